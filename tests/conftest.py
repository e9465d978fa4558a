"""What every test may rely on: one printed seed, quiet hypothesis profiles, the recorded runs."""

import os
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]

# No profile judges by the clock: on a busy machine a deadline fails tests that are right.
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("dev", _UNTIMED, max_examples=50)
settings.register_profile("ci", _UNTIMED, max_examples=200, database=None)
settings.register_profile("thorough", _UNTIMED, max_examples=5_000)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Let the one seed that pytest-randomly prints rule hypothesis as well."""
    seed = config.getoption("randomly_seed", None)
    if seed == "default":
        seed = config.option.randomly_seed = random.SystemRandom().getrandbits(32)
    if isinstance(seed, int) and config.getoption("hypothesis_seed") is None:
        config.option.hypothesis_seed = str(seed)


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Return the folder `shared` beside the repository, which holds recorded runs of real agents."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("no folder `shared` with recorded runs lies beside the repository")
    return folder
