"""The shape of the package: who may import whom, what stays unloaded, what no module may hold."""

from __future__ import annotations

import ast
import graphlib
import importlib.metadata
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import falsify_adapters

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "falsify_adapters"
MODULES = sorted(PACKAGE.rglob("*.py"))
NAMES = [str(path.relative_to(PACKAGE)) for path in MODULES]

# Room -> rooms it may import, inside functions and for types too. Itself is always allowed.
BASE = {"errors", "measures", "model"}
STEPS = {"ranking", "units", "pool", "grading", "judging", "remarks", "readers", "textfile"}
MAY_IMPORT = {
    "errors": set(),
    "measures": {"errors"},
    "model": {"errors", "measures"},
    "core": BASE,
    "ranking": BASE | {"units"},
    "units": BASE | {"textfile"},
    "collection": BASE | {"core", "pool", "ranking", "units"},
    "pool": BASE | {"core", "ranking", "textfile", "units"},
    "grading": BASE | {"core"},
    "hooks": BASE | {"core", "readers"},
    "adapters": BASE | {"core", "hooks"},
    "readers": BASE,
    "registry": BASE | {"hooks", "adapters", "readers", "report", "package"},
    "report": {"errors"},  # what renders sees a dict
    "save": {"registry", "report"},  # save_report.py
    "data": BASE | {"core", "report", "save", "package"},  # report/data.py makes that dict
    "textfile": BASE,
    "remarks": BASE | {"core", "pool", "ranking"},
    "judging": BASE | {"core", "grading", "adapters", "hooks", "registry"},
    "intake": BASE | {"collection", "core", "hooks", "pool", "ranking", "readers", "registry", "textfile", "units"},
    "noise": BASE | {"core", "intake", "pool", "ranking", "readers"},
    "floor": BASE | {"adapters", "core", "grading", "intake", "judging", "noise", "pool"},
    "harness": BASE | {"core", "grading", "intake", "noise", "pool", "ranking", "registry", "units"},
    "check": BASE
    | STEPS
    | {"floor", "harness", "intake", "noise"}
    | {"core", "hooks", "adapters", "registry", "data", "report", "save", "package"},
    "irm": BASE | {"check", "data", "pool", "readers", "registry"},
    "audit": BASE | {"core", "check", "data", "hooks", "registry", "save", "package"},
    "demo": BASE | {"check", "report"},
    "cli": BASE | {"audit", "report", "hooks", "registry", "check", "demo", "noise", "package"},
    "pytest": {"data", "package"},  # pytest_plugin.py
    "package": {"audit", "errors", "measures", "model", "check", "data", "noise", "registry"},
}
# The root holds the version, and its public names are loaded on demand: it is no step back for those who read it.
ON_DEMAND = {"package"}

ROOM_OF_FILE = {
    "__init__": "package",
    "__main__": "cli",
    "measure_names": "measures",
    "measure_hints": "measures",
    "hookspecs": "hooks",
    "offers": "hooks",
    "builtins": "registry",
}


def room(dotted: str) -> str:
    """The room of a module given as falsify_adapters.x.y."""
    parts = dotted.split(".")[1:]
    if not parts:
        return "package"
    if parts[0] == "report" and parts[-1].endswith("data"):
        return "data"
    return ROOM_OF_FILE.get(parts[0], parts[0].split("_")[0])


def dotted(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, node
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            for alias in node.names:
                inside = (ROOT / node.module.replace(".", "/") / f"{alias.name}.py").is_file()
                yield (f"{node.module}.{alias.name}" if inside else node.module), node


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_a_module_imports_only_the_rooms_that_its_own_may(path: Path) -> None:
    own = room(dotted(path))
    assert own in MAY_IMPORT, f"{path.name} is in no room: say in MAY_IMPORT what it may import"
    for name, node in imports(parsed(path)):
        if name.split(".")[0] == "falsify_adapters" and room(name) != own:
            assert room(name) in MAY_IMPORT[own], f"{path.name}, line {node.lineno}: {own} may not import {room(name)}"


def test_the_rooms_have_no_cycle() -> None:
    graphlib.TopologicalSorter({name: rooms - ON_DEMAND for name, rooms in MAY_IMPORT.items()}).prepare()


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=lambda path: path.name)
def test_the_core_is_pure(path: Path) -> None:
    tree = parsed(path)
    top = {id(node) for node in tree.body}
    for name, node in imports(tree):
        first = name.split(".")[0]
        allowed = first in sys.stdlib_module_names or first in ("numpy", "scipy", "falsify_adapters")
        assert allowed, f"line {node.lineno}: {name}"
        assert first != "scipy" or id(node) not in top, f"line {node.lineno}: scipy is imported inside functions"
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"print", "open", "input"}


@pytest.mark.parametrize("path", MODULES, ids=NAMES)
def test_a_module_is_short_and_checks_input_without_assert(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    lines = [node.lineno for node in ast.walk(parsed(path)) if isinstance(node, ast.Assert)]
    assert not lines, "python -O drops assert statements"


HEAVY = ("polars", "scipy", "pandas", "ir_measures", "pytrec_eval", "ranx", "rich")


def loaded_after(code: str) -> set[str]:
    program = f"{code}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded_after("import falsify_adapters") & set(HEAVY)


def test_help_loads_nothing_heavy_and_not_even_numpy() -> None:
    calls = [f"assert run([{name!r}, '--help']) == 0" for name in ("gate", "floor", "noise")]
    code = "\n".join(["from falsify_adapters.cli import run", "assert run(['--help']) == 0", *calls])
    assert not loaded_after(code) & {*HEAVY, "numpy"}


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "falsify_adapters/__init__.py"
    assert importlib.metadata.version("falsify-adapters") == falsify_adapters.__version__
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{falsify_adapters.__version__}]" in changes


def test_the_extra_all_holds_every_other_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    listed = next(line for line in extras["all"] if line.startswith("falsify-adapters["))
    named = set(listed.removeprefix("falsify-adapters[").removesuffix("]").split(","))
    assert named == set(extras) - {"all"}
