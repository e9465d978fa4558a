"""What every test may rely on: one printed seed, quiet hypothesis profiles, recorded runs, real servers."""

import gc
import os
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.outside.fixtures import mail_server, order_server, payment_server
from tests.servers import session
from tests.servers.bouncer import Bouncer
from tests.servers.cluster import Cluster, Server, kinds_installed, shared
from tests.servers.proxy import Proxy

__all__ = ["mail_server", "order_server", "payment_server"]

ROOT = Path(__file__).resolve().parents[1]

# No profile judges by the clock: on a busy machine a deadline fails tests that are right.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("dev", _UNTIMED, max_examples=50)
settings.register_profile("ci", _UNTIMED, max_examples=50, database=None)
settings.register_profile("thorough", _UNTIMED, max_examples=5_000)
_CI_SEED = 20_261_130
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let the one seed that pytest-randomly prints rule hypothesis as well.

    In CI it is always the same: what judges a change must not find there what another change left behind.
    Every run elsewhere draws anew.
    """
    seed = config.getoption("randomly_seed", None)
    if seed == "default":
        fresh = random.SystemRandom().getrandbits(32)
        seed = config.option.randomly_seed = _CI_SEED if os.environ.get("CI") else fresh
    if isinstance(seed, int) and config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(seed)
    _join_servers(config)


def pytest_collection_finish() -> None:
    """Leave what stands as long as the session, some millions of objects, out of every search for garbage."""
    gc.collect()
    gc.freeze()


def _join_servers(config: pytest.Config) -> None:
    """Open the session of the shared servers, or join the one of the workers' controller."""
    told = getattr(config, "workerinput", {}).get("servers")
    if told is None:
        opened = session.Session()
        config.add_cleanup(opened.close)
    session.join(Path(told) if told is not None else opened.folder)
    config.add_cleanup(session.leave)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker where the session's servers are."""
    node.workerinput["servers"] = str(session.current())


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Return the folder `shared` beside the repository, which holds recorded runs of real agents."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` with recorded runs lies beside the repository")
    return folder


@pytest.fixture(scope="session")
def postgres() -> Cluster:
    """Return the PostgreSQL that all tests share; do not hold a transaction open in it, nor stop it."""
    return shared()


@pytest.fixture
def fresh_database(postgres: Cluster) -> str:
    """Return the URL of an empty database."""
    return postgres.fresh_database()


@pytest.fixture
def other_cluster() -> Iterator[Callable[..., Server]]:
    """Return a function that starts a PostgreSQL of the test's own, which it may hold up, stop and kill.

    With `copy_of` it is a streaming replica of that cluster. No transaction runs in it but the test's own.
    """
    with _own_clusters() as start:
        yield start


@pytest.fixture(scope="module")
def module_cluster() -> Iterator[Callable[..., Server]]:
    """Return the same for servers that the tests of a file share, and leave as they found them."""
    with _own_clusters() as start:
        yield start


@contextmanager
def _own_clusters() -> Iterator[Callable[..., Server]]:
    with ExitStack() as stack:

        def start(
            settings: dict[str, str] | None = None, kind: str = "postgres", copy_of: Cluster | None = None
        ) -> Server:
            installation = copy_of.installation if copy_of is not None else kinds_installed(kind)
            # Its transactions would come when they like, and hold followers back.
            settings = {"autovacuum": "off"} | (settings or {})
            return stack.enter_context(closing(Server(_own_folder(), installation, settings, copy_of)))

        yield start


@pytest.fixture
def pooler() -> Iterator[Callable[..., Bouncer]]:
    """Return a function that starts a pgbouncer in front of a cluster."""
    with ExitStack() as stack:

        def start(cluster: Cluster, users: dict[str, str] | None = None) -> Bouncer:
            return stack.enter_context(closing(Bouncer(_own_folder(), cluster, users)))

        yield start


@pytest.fixture
def proxy(postgres: Cluster) -> Iterator[Proxy]:
    """Return a line to the shared PostgreSQL that can be cut: `postgres.url(…, port=proxy.port)`."""
    with closing(Proxy(postgres.port)) as line:
        yield line


def _own_folder() -> Path:
    return session.current() / f"own-{uuid.uuid4().hex[:12]}"
