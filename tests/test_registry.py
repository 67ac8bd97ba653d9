"""Find, load, resolve: what is offered, by whom, and what happens when a plugin is broken."""

from __future__ import annotations

import importlib.metadata
import inspect
import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from falsify_adapters import hookspecs
from falsify_adapters.adapters.spec_backend import SpecBackend, floors
from falsify_adapters.errors import (
    BackendError,
    FalsifyError,
    MeasureError,
    NotInstalledError,
    OptionError,
    PluginError,
)
from falsify_adapters.hookspecs import hookimpl
from falsify_adapters.measure_names import Family, Param
from falsify_adapters.measures import Measure
from falsify_adapters.model import Judgments, Pool
from falsify_adapters.offers import KINDS, MeasureSpec, Offer
from falsify_adapters.registry import BUILTIN, DISABLE, Registry, find

# The nulls A to D are the core's own, as are the pools and unit mappings that options of their own stand for.
NOT_BY_HOOK = {"nulls"}
HEAVY = ("ir_measures", "pytrec_eval", "ranx", "polars", "scipy", "pandas", "numba", "rich")


class Fake:
    """A plugin in memory: `Fake(backends=[...])` has a hook for each keyword; a function is called, else returned."""

    def __init__(self, **hooks: Any) -> None:
        for name, answer in hooks.items():
            setattr(self, name, hookimpl(answer if inspect.isfunction(answer) else _returning(answer)))


def _pages(separator: str) -> Callable[[str], str]:
    return lambda chunk: chunk.partition(separator)[0]


def _returning(answer: Any) -> Any:
    return lambda: answer


class Other:
    name = "other"

    def why_not(self, measure: Measure) -> str | None:
        return None if measure.family == "Twice" else f"other computes Twice, not {measure.family}"

    def tolerance(self, measure: Measure) -> float:  # noqa: ARG002
        return 1e-9

    def score(self, measure: Any, qrels: Any, run: Any) -> list[float]:  # noqa: ARG002
        return [0.5 for _ in qrels]


def bare(**hooks: Any) -> Registry:
    registry = Registry(entry_points=())
    if hooks:
        registry.register(Fake(**hooks), package="stranger", version="2.1")
    return registry


def write_package(root: Path, package: str, entry_points: dict[str, str], modules: dict[str, str]) -> None:
    """An installed package as pip leaves it: modules, METADATA and entry_points.txt."""
    info = root / f"{package.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "\n".join(f"{name} = {value}" for name, value in entry_points.items())
    (info / "entry_points.txt").write_text(f"[falsify_adapters]\n{lines}\n")
    for name, text in modules.items():
        (root / f"{name}.py").write_text(textwrap.dedent(text))


def entry_points(root: Path) -> list[importlib.metadata.EntryPoint]:
    return [
        point
        for dist in importlib.metadata.distributions(path=[str(root)])
        for point in dist.entry_points
        if point.group == "falsify_adapters"
    ]


OFFERS_BACKEND = """
    from falsify_adapters.hookspecs import hookimpl
    from falsify_adapters.offers import Offer

    @hookimpl
    def backends():
        return [Offer("{name}", "{target}", "a backend of a stranger's")]
"""


# Every hook, every offer


def test_every_hook_has_one_line_of_docstring_and_no_arguments() -> None:
    specs = {n: f for n, f in vars(hookspecs).items() if inspect.isfunction(f)}
    assert tuple(specs) == KINDS
    for name, spec in specs.items():
        assert spec.__doc__, name
        assert "\n" not in spec.__doc__, name
        assert spec.__doc__.endswith("."), name
        assert not inspect.signature(spec).parameters, name


def test_every_hook_is_implemented_by_the_built_ins_or_said_not_to_be() -> None:
    registry = bare()
    offering = {kind for kind in KINDS if registry.offers(kind)}
    assert offering == set(KINDS) - NOT_BY_HOOK
    assert registry.failures() == ()


@pytest.mark.parametrize("kind", sorted(set(KINDS) - NOT_BY_HOOK))
def test_every_built_in_offer_loads(kind: Any) -> None:
    registry = bare()
    for name in registry.names(kind):
        assert registry.resolve(kind, name) is not None


def test_built_in_names() -> None:
    registry = bare()
    assert registry.names("backends") == ("builtin", "ir_measures", "pytrec_eval", "ranx")
    assert {"AP", "ERR", "P", "R", "RBP", "RR", "Rprec", "Success", "bpref", "nDCG"} <= set(registry.names("measures"))
    assert all(offered.plugin == BUILTIN for kind in KINDS for offered in registry.offers(kind))


def test_names_are_the_same_in_any_case_and_with_either_dash() -> None:
    registry = bare(units=[Offer("by-Page", lambda: _pages, "pages")])
    assert registry.resolve("units", "BY_PAGE")("#")("d1#7") == "d1"
    assert registry.resolve("measures", "ndcg").name == "nDCG"


# Names that are not there


def test_an_unknown_name_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(OptionError) as caught:
        bare().resolve("backends", "rank-x")
    assert str(caught.value) == (
        "there is no backend 'rank-x'. Legal: builtin, ir_measures, pytrec_eval, ranx. Did you mean 'ranx'?"
    )


def test_an_unknown_measure_is_a_measure_error() -> None:
    with pytest.raises(MeasureError, match=r"there is no measure 'nDGC'.*Did you mean 'nDCG'\?"):
        bare().resolve("measures", "nDGC")


def test_a_kind_without_any_offer_says_so() -> None:
    with pytest.raises(OptionError, match="none, until a plugin that offers a null is installed"):
        bare().resolve("nulls", "E")


# Plugins that break the rules


def test_a_plugin_that_fails_to_import_stops_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    write_package(tmp_path, "broken-one", {"lucene": "reg_broken"}, {"reg_broken": "import no_such_library\n"})
    write_package(tmp_path, "leaves-early", {"leaves": "reg_leaves"}, {"reg_leaves": "raise SystemExit('no')\n"})
    write_package(
        tmp_path,
        "works-well",
        {"fine": "reg_fine"},
        {"reg_fine": OFFERS_BACKEND.format(name="other", target="reg_fine_impl:Other"), "reg_fine_impl": SOURCE},
    )
    registry = Registry(entry_points=entry_points(tmp_path), outside=True)
    assert registry.resolve("backends", "other").name == "other"
    assert registry.resolve("measures", "AP").name == "AP"
    assert [str(f) for f in registry.failures()] == [
        "broken-one 1.0 (plugin 'lucene'), import: ModuleNotFoundError: No module named 'no_such_library'",
        "leaves-early 1.0 (plugin 'leaves'), import: SystemExit: no",
    ]
    with pytest.raises(NotInstalledError) as caught:
        registry.resolve("backends", "Lucene")
    message = str(caught.value)
    assert "broken-one 1.0" in message
    assert "no_such_library" in message
    assert "leaves-early" not in message
    with pytest.raises(NotInstalledError, match=r"broken-one.*leaves-early"):
        registry.resolve("commands", "zzz")
    with pytest.raises(OptionError, match="Did you mean 'ranx'"):
        registry.resolve("backends", "ranks")


SOURCE = """
    class Other:
        name = "other"
        def why_not(self, measure): return None
        def tolerance(self, measure): return 1e-9
        def score(self, measure, qrels, run): return [0.0 for _ in qrels]
"""


def test_an_offer_that_does_not_load_names_its_package() -> None:
    registry = bare(backends=[Offer("gone", "no_such_library.module:Thing", "not here")])
    assert registry.failures() == ()
    with pytest.raises(NotInstalledError, match=r"the backend 'gone' of stranger 2\.1 .*No module named"):
        registry.resolve("backends", "gone")


def test_an_error_of_our_own_kind_passes_unchanged() -> None:
    def load() -> object:
        raise NotInstalledError("lucene is missing", mend="pip install lucene.")

    with pytest.raises(NotInstalledError, match=r"^lucene is missing\. pip install lucene\.$"):
        bare(backends=[Offer("lucene", load, "lucene")]).resolve("backends", "lucene")


def test_a_plugin_cannot_shadow_a_built_in_silently() -> None:
    registry = bare(backends=[Offer("IR-measures", lambda: Other(), "in disguise"), Offer("other", Other, "fine")])
    with pytest.raises(PluginError) as caught:
        registry.resolve("backends", "ir_measures")
    assert "falsify-adapters" in str(caught.value)
    assert "stranger 2.1" in str(caught.value)
    assert registry.names("backends") == ("builtin", "ir_measures", "other", "pytrec_eval", "ranx")
    assert registry.resolve("backends", "other").name == "other"
    overview: Any = registry.overview()
    assert overview["conflicts"] == [
        {"kind": "backends", "name": "ir_measures", "packages": ["falsify-adapters", "stranger"]}
    ]


def test_two_plugins_with_one_name() -> None:
    registry = Registry(entry_points=())
    registry.register(Fake(formats=[Offer("yaml", lambda: str, "first")]), package="one")
    registry.register(Fake(formats=[Offer("yaml", lambda: str, "second")]), package="another")
    with pytest.raises(PluginError, match=r"'yaml' is offered by another 0 .* and by one 0 "):
        registry.resolve("formats", "yaml")


@pytest.mark.parametrize(
    ("hooks", "reason"),
    [
        ({"backends": 7}, "the hook 'backends' returned int"),
        ({"backends": lambda: None}, "the hook 'backends' returned NoneType"),
        ({"measures": Offer("Q", "a:b", "one")}, "the hook 'measures' returned Offer"),
        ({"readers": "trec"}, "the hook 'readers' returned an iterable that holds str"),
        ({"pools": [("a", "b", "c")]}, "the hook 'pools' returned an iterable that holds tuple"),
        ({"units": [Offer("u", "a:b", "x"), Offer("U", "a:b", "x")]}, "offers the name 'U' twice"),
        ({"nulls": [Offer("a", "a:b", "x")]}, "the hook 'nulls' offers 'a', which is a null of the core"),
        ({"measures": [Offer("MAP", "a:b", "x")]}, "which is another spelling of the measure AP"),
        ({"measures": [Offer("Judged", "a:b", "x")]}, "which has no gate"),
        ({"formats": lambda: [Offer("with space", "a:b", "x")]}, "cannot be typed on a command line"),
        ({"formats": lambda: [Offer("x", "no colon", "x")]}, "cannot be loaded from 'no colon'"),
        ({"formats": lambda: [Offer("x", "a:b", "two\nlines")]}, "one line of text"),
        ({"commands": lambda: [1 / 0 for _ in "x"]}, "ZeroDivisionError: division by zero"),
    ],
)
def test_a_hook_that_returns_the_wrong_thing_is_named(hooks: dict[str, Any], reason: str) -> None:
    registry = bare(**hooks)
    kind: Any = next(iter(hooks))
    before = bare().names(kind)
    assert registry.names(kind) == before
    (failure,) = registry.failures()
    assert (failure.plugin.package, failure.plugin.version, failure.step) == ("stranger", "2.1", kind)
    assert reason in failure.reason


def test_a_hook_that_fails_costs_its_plugin_no_other_hook() -> None:
    registry = bare(backends=7, formats=[Offer("yaml", lambda: str, "text")])
    assert registry.names("backends") == bare().names("backends")
    assert "yaml" in registry.names("formats")
    assert len(registry.failures()) == 1


@pytest.mark.parametrize(
    ("plugin", "reason"),
    [
        (Fake(backend=[]), "unknown hook 'backend'"),
        (Fake(), "no function marked with hookspecs.hookimpl"),
        (Fake(backends=lambda wanted: [wanted]), "Argument"),
    ],
)
def test_a_plugin_that_implements_no_legal_hook(plugin: Fake, reason: str) -> None:
    registry = bare()
    with pytest.raises(PluginError, match=r"stranger 0 .*" + reason):
        registry.register(plugin, package="stranger")
    assert registry.names("backends") == bare().names("backends")


@pytest.mark.parametrize(
    ("kind", "thing", "wanted"),
    [
        ("backends", object(), "the name 'x' and the methods why_not, tolerance, score"),
        ("backends", Other(), "the name 'x'"),
        ("nulls", Other(), "the name 'x' and the methods scores"),
        ("measures", {"name": "x"}, "a MeasureSpec of the name 'x'"),
        ("measures", MeasureSpec(Family("y", "", "")), "a MeasureSpec of the name 'x'"),
        ("commands", print, "a click.Command"),
        ("readers", 7, "a function"),
    ],
)
def test_a_thing_of_the_wrong_kind_is_refused_with_its_package(kind: Any, thing: object, wanted: str) -> None:
    registry = bare(**{kind: [Offer("x", lambda: thing, "wrong")]})
    with pytest.raises(PluginError, match=r"'x' of stranger 2\.1") as caught:
        registry.resolve(kind, "x")
    assert wanted in str(caught.value)


# From outside, or not


def test_disabled_plugins_are_found_and_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_package(tmp_path, "broken-one", {"x": "reg_never_imported"}, {"reg_never_imported": "1 / 0"})
    monkeypatch.setenv(DISABLE, "1")
    registry = Registry(entry_points=entry_points(tmp_path))
    overview: Any = registry.overview()
    assert not overview["outside"]
    assert [(p["package"], p["status"]) for p in overview["plugins"]] == [
        ("falsify-adapters", "loaded"),
        ("broken-one", "disabled"),
    ]
    assert registry.failures() == ()
    with pytest.raises(OptionError, match=DISABLE):
        registry.resolve("commands", "x")
    monkeypatch.setenv(DISABLE, "0")
    assert Registry(entry_points=()).outside
    assert not Registry(entry_points=(), outside=False).outside


def test_order_does_not_depend_on_that_of_the_entry_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for letter in "cab":
        module = f"reg_order_{letter}"
        text = OFFERS_BACKEND.format(name=f"same_{letter in 'ab'}", target="x:y")
        write_package(tmp_path, f"Pack_{letter}", {"p": module, "o": f"{module}_2"}, {module: text, f"{module}_2": ""})
    points = entry_points(tmp_path)
    one, two = (Registry(entry_points=p, outside=True) for p in (points, points[::-1]))
    assert json.dumps(one.overview()) == json.dumps(two.overview())
    assert [(p.package, p.name) for p, _ in find(points)] == [
        (f"Pack_{letter}", name) for letter in "abc" for name in "op"
    ]
    overview: Any = one.overview()
    assert overview["conflicts"] == [{"kind": "backends", "name": "same_True", "packages": ["Pack_a", "Pack_b"]}]
    assert [p["status"] for p in overview["plugins"]] == ["loaded", *["failed", "loaded"] * 3]


def test_installed_plugins_are_found_without_importing_anything_heavy(tmp_path: Path) -> None:
    write_package(
        tmp_path,
        "works-well",
        {"fine": "reg_seen"},
        {"reg_seen": OFFERS_BACKEND.format(name="other", target="reg_seen_impl:Other"), "reg_seen_impl": SOURCE},
    )
    code = f"""
        import json, sys
        from falsify_adapters.registry import Registry
        registry = Registry()
        found = "pluggy" in sys.modules or "reg_seen" in sys.modules
        overview = registry.overview()
        registry.measures()
        heavy = [m for m in {HEAVY!r} if m in sys.modules]
        early = "reg_seen_impl" in sys.modules
        name = registry.resolve("backends", "other").name
        print(json.dumps([found, heavy, early, name, [p["package"] for p in overview["plugins"]]]))
    """
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    env.pop(DISABLE, None)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, check=True
    )
    found, heavy, early, name, packages = json.loads(done.stdout)
    assert (found, heavy, early, name) == (False, [], False, "other")
    assert packages[0] == "falsify-adapters"
    assert "works-well" in packages


def test_registries_do_not_share_state() -> None:
    one = bare(formats=[Offer("yaml", lambda: str, "text")])
    assert "yaml" in one.names("formats")
    assert "yaml" not in bare().names("formats")


# Measures of plugins


def _twice(measure: Measure, ranked: Any, judged: Any) -> float:
    return float(len(ranked) == measure.cutoff) * 0.5 + 0.25 * (ranked[0] is None) + 0.125 * len(judged)


TWICE = Family("Twice", "Twice", "made up for this test", cutoff="required")
QRELS = {"0": {"0": 2, "1": 0}, "1": {"1": 1}}
RUN = {"0": {"0": 1.0, "2": 3.0, "1": 2.0}, "1": {"1": 1.0}}


def test_a_measure_with_a_function_is_computed_whatever_the_backend() -> None:
    registry = bare(measures=[Offer("Twice", lambda: MeasureSpec(TWICE, score=_twice), "twice")])
    registry.register(Fake(backends=[Offer("none", NoMeasures, "none")]), package="empty")
    backend = registry.backend_for("none", Measure("Twice", 2))
    assert backend.name == "measure of stranger 2.1"
    assert backend.tolerance(Measure("Twice", 2)) == 1e-9
    # The first list is cut at 2 and begins with an unjudged document; the second is shorter than 2.
    assert backend.score(Measure("Twice", 2), QRELS, RUN) == [0.5 + 0.25 + 0.25, 0.125]
    with pytest.raises(BackendError, match="Twice needs a cutoff: write Twice@10"):
        registry.backend_for("none", Measure("Twice"))
    with pytest.raises(BackendError, match="Twice has no parameter 'b'"):
        registry.backend_for("none", Measure("Twice", 3, params=(("b", 1),)))
    with pytest.raises(BackendError, match=r"^no measures at all, and no AP$"):
        registry.backend_for("none", Measure("AP"))


def test_a_measure_without_a_function_is_computed_by_its_plugins_backend() -> None:
    registry = bare(
        measures=[Offer("Twice", lambda: MeasureSpec(TWICE), "twice")], backends=[Offer("other", Other, "its own")]
    )
    registry.register(Fake(backends=[Offer("none", NoMeasures, "none")]), package="empty")
    assert registry.backend_for("none", Measure("Twice", 2)).name == "other"
    assert registry.backend_for("other", Measure("Twice", 2)).name == "other"


def test_the_floor_of_a_measure_is_asked_query_by_query() -> None:
    def floor(measure: Measure, n: int, depth: int, in_pool: Any, judged: Any) -> float:
        return float(f"{measure.cutoff}{n}{depth}{len(in_pool)}") + float(sum(judged)) / 100

    judgments = Judgments(
        ("q1", "q2", "q3"),
        3,
        np.array([0, 3, 3, 4]),
        np.array([0, 1, 2, 0], np.int32),
        np.array([1, 0, 2, 1], np.int32),
    )
    size, depth = np.array([9, 8, 7]), np.array([3, 0, 2])
    spec = MeasureSpec(TWICE, floor=floor)
    inside = np.array([True, False, True, False])
    measure = Measure("Twice", 5)
    assert floors(spec, measure, judgments, Pool(size, "given"), depth).tolist() == [5933.03, 5800.0, 5721.01]
    cut = floors(spec, measure, judgments, Pool(size, "file", inside=inside), depth)
    assert cut.tolist() == [5932.03, 5800.0, 5720.01]
    with pytest.raises(PluginError, match="Twice has no exact floor"):
        floors(MeasureSpec(TWICE), measure, judgments, Pool(size, "given"), depth)


def test_grades_reach_the_functions_sorted() -> None:
    def score(measure: Measure, ranked: Any, judged: Any) -> float:  # noqa: ARG001
        return float("".join(map(str, judged)))

    backend = SpecBackend(MeasureSpec(TWICE, score=score), "stranger 2.1")
    assert backend.score(Measure("Twice", 1), {"0": {"0": 1, "1": 3, "2": 2}}, {"0": {}}) == [321.0]
    with pytest.raises(PluginError, match=r"Twice of stranger 2\.1 has no scoring function"):
        SpecBackend(MeasureSpec(TWICE), "stranger 2.1")


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ((("b", 1),), None),
        ((("b", 0.5),), None),
        ((("b", 0),), "b=0 of F is not legal: a number strictly between 0 and 2"),
        ((("b", "x"),), "b='x' of F is not legal"),
        ((("b", True),), "b=True of F is not legal"),
        ((("n", 3),), None),
        ((("n", 3.5),), "n=3.5 of F is not legal: a whole number"),
        ((("s", True),), None),
        ((("s", 1),), "s=1 of F is not legal: True or False"),
        ((("z", 1),), "F has no parameter 'z' (it has: b, n, s)"),
    ],
)
def test_parameters_are_checked_against_the_family(params: Any, why: str | None) -> None:
    known = {"b": Param(float, 0, 2, open=True, default=1.0), "n": Param(int, 0), "s": Param(bool, default=False)}
    backend = SpecBackend(MeasureSpec(Family("F", "", "", params=known), score=_twice), "stranger 2.1")
    found = backend.why_not(Measure("F", params=params))
    assert found is None if why is None else found is not None and why in found
    assert "takes no cutoff" in str(backend.why_not(Measure("F", 3)))
    assert "computes F, not AP" in str(backend.why_not(Measure("AP")))


def test_measures_that_do_not_load_are_reported_beside_the_others() -> None:
    registry = bare(measures=[Offer("Twice", "no_such_library:SPEC", "twice")])
    found = registry.measures()
    assert "Twice" not in found
    assert found["nDCG"][1] == BUILTIN
    (failure,) = registry.failures()
    assert failure.step == "measures: Twice"
    assert "no_such_library" in failure.reason


class NoMeasures(Other):
    name = "none"

    def why_not(self, measure: Measure) -> str | None:
        return f"no measures at all, and no {measure.family}"


def test_a_command_of_a_plugin() -> None:
    @click.command()
    def hello() -> None:
        """Say hello."""

    registry = bare(commands=[Offer("hello", lambda: hello, "Say hello.")])
    assert registry.resolve("commands", "hello") is hello
    overview: Any = registry.overview()
    assert overview["plugins"][1]["offers"] == {"commands": [{"name": "hello", "summary": "Say hello."}]}


def test_errors_survive_pickling() -> None:
    import pickle

    with pytest.raises(FalsifyError) as caught:
        bare().resolve("backends", "nothing")
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
