"""What is read is data: nothing in the product turns stored bytes into code, or into names of code."""

import ast
import sys
from pathlib import Path

import pytest

import ledger

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(path for folder in ("ledger", "projections") for path in (ROOT / folder).rglob("*.py"))

BANNED_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "jsonpickle",
    "yaml",
    "joblib",
}
BANNED_CALLS = {"eval", "exec", "compile", "__import__", "import_module", "resolve_topic", "get_topic"}


def test_there_are_sources_to_look_at() -> None:
    assert {path.name for path in SOURCES} >= {"codec.py", "record.py", "base.py"}


# Loads its own public names when they are first asked for; which module holds one is written there.
LAZY = ROOT / "ledger" / "__init__.py"
# Loads the module that an operator names on the command line: a word of theirs, never one that was stored.
NAMED = ROOT / "ledger" / "adapters" / "cli" / "tool_modules.py"
# Reads what an operator publishes as nodes of YAML, which are text and places; nothing is made of their tags.
NODES = ROOT / "ledger" / "adapters" / "sources" / "yaml_documents.py"
NODES_MAY_CALL = {"compose", "parse"}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_can_unpickle_evaluate_or_import_by_name(path: Path) -> None:
    banned_calls = BANNED_CALLS - {"import_module"} if path in (LAZY, NAMED) else BANNED_CALLS
    banned_modules = BANNED_MODULES - {"yaml"} if path == NODES else BANNED_MODULES
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not {name.name.split(".")[0] for name in node.names} & banned_modules
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in BANNED_MODULES
            assert not {name.name for name in node.names} & banned_calls
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name):
                assert called.id not in banned_calls, ast.unparse(node)
            elif isinstance(called, ast.Attribute) and called.attr in banned_calls:
                # `re.compile` makes a pattern, not code.
                assert ast.unparse(called) == "re.compile", ast.unparse(node)


def test_yaml_is_read_as_nodes_and_never_loaded() -> None:
    tree = ast.parse(NODES.read_text("utf-8"))
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    of_yaml = [ast.unparse(func) for func in called if ast.unparse(func).startswith("yaml.")]
    assert set(of_yaml) == {f"yaml.{name}" for name in NODES_MAY_CALL}
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [node.module for node in imported if (node.module or "").startswith("yaml")]
    loaders = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert {name for name in loaders if name.startswith("yaml.") and "Loader" in name} == {"yaml.SafeLoader"}


@pytest.mark.parametrize("name", ["os", "os:system", "os.system", "antigravity", "ledger.codec", "_HOMES.x"])
def test_the_package_loads_nothing_but_its_public_names(name: str) -> None:
    before = set(sys.modules)
    with pytest.raises(AttributeError):
        getattr(ledger, name)
    assert set(sys.modules) == before
