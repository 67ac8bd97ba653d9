"""Every backend against the kernels, on data with all the corners; and what must never reach a library."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable, Sequence

import numpy as np
import pytest

from falsify_adapters.adapters import translate
from falsify_adapters.adapters.builtin import BuiltinBackend
from falsify_adapters.adapters.ir_measures_adapter import IrMeasuresBackend
from falsify_adapters.adapters.pytrec_eval_adapter import PytrecEvalBackend
from falsify_adapters.adapters.ranx_adapter import RanxBackend
from falsify_adapters.errors import BackendError, MeasureError
from falsify_adapters.measure_names import FAMILIES
from falsify_adapters.measures import Measure, looks_to, parse, zero_without_gold
from falsify_adapters.model import Backend

pytest.importorskip("ir_measures")
pytest.importorskip("pytrec_eval")
pytest.importorskip("ranx")

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
BACKENDS = (PytrecEvalBackend(), IrMeasuresBackend(), RanxBackend())
BY_BACKEND = {b.name: b for b in BACKENDS}
KERNELS = (
    "nDCG", "nDCG@5", "nDCG(dcg='exp-log2')", "nDCG(dcg='exp-log2')@5", "AP", "AP@7", "RR", "RR@3", "P@5", "P@100",
    "R", "R@10", "Success@3", "Rprec", "bpref", "RBP", "RBP(p=0.123)@4", "ERR", "ERR@5",
)  # fmt: skip
FOREIGN = (
    "F1@5", "SetP", "SetP(relative=True)", "SetR", "SetF", "SetF(beta=0.5)", "SetAP", "IPrec@0", "IPrec@0.1",
    "IPrec@1", "11pt_avg", "infAP", "relative_P@5", "Compat", "Compat(p=0.5,normalize=False)", "BPM(max_rel=4)@5",
    "SDCG(max_rel=4)@5", "NERR8(max_rel=4)@5", "NERR9(max_rel=4)@5", "NERR10(max_rel=4)", "NERR11(max_rel=4)",
    "INST(max_rel=4)", "INSQ(max_rel=4,T=2)", "Accuracy@20", "Accuracy", "P(judged_only=True)@5",
    "RR(judged_only=True)", "nDCG(judged_only=True)@5", "SetP(judged_only=True)", "R(judged_only=True)",
)  # fmt: skip


def make(seed: int, queries: int = 40, documents: int = 30, gold: bool = True) -> tuple[Qrels, Run]:
    """Random judgments and lists: negative grades, queries without gold, with negatives alone, empty and short lists,
    and nothing unjudged behind the last list."""
    draw = random.Random(seed)
    qrels: Qrels = {}
    run: Run = {}
    for i in range(queries):
        docs = [str(d) for d in range(documents)]
        grades = {d: draw.choice((-2, -1, 0, 0, 1, 2, 3, 4)) for d in draw.sample(docs, draw.randint(1, 15))}
        if i % 7 == 1:
            grades = {d: min(g, 0) for d, g in grades.items()}
        if i % 11 == 2:
            grades = dict.fromkeys(grades, -1)
        listed = draw.sample(docs, draw.choice((0, 1, 5, 20, documents)))
        if not gold:
            listed = [d for d in listed if grades.get(d, 0) <= 0]
        qrels[str(i)] = grades
        run[str(i)] = {d: float(len(listed) - at) for at, d in enumerate(listed)}
    return qrels, run


QRELS, RUN = make(1)


def leveled(names: Iterable[str], levels: Sequence[int]) -> list[Measure]:
    return list(dict.fromkeys(parse(name, rel=level) for name in names for level in levels))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
@pytest.mark.parametrize("measure", leveled(KERNELS, (1, 2, 4, 5, 2**31 - 1)), ids=str)
def test_backend_agrees_with_the_kernel(backend: Backend, measure: Measure) -> None:
    if backend.why_not(measure) is not None:
        with pytest.raises(BackendError, match="use --backend builtin"):
            backend.score(measure, QRELS, RUN)
        return
    expected = np.array(BuiltinBackend().score(measure, QRELS, RUN))
    values = np.array(backend.score(measure, QRELS, RUN))
    assert all(type(v) is float for v in backend.score(measure, QRELS, RUN))
    if backend.name == "ranx" and measure.family == "bpref":
        # Passed on as ranx gives it: NaN where gold was retrieved and nothing is judged non-relevant.
        for value, wanted, grades in zip(values, expected, QRELS.values(), strict=True):
            none = not any(0 <= g < measure.rel for g in grades.values())
            assert np.isnan(value) == (none and wanted > 0)
        values = np.where(np.isnan(values), expected, values)
    np.testing.assert_allclose(values, expected, rtol=0, atol=backend.tolerance(measure))
    assert backend.tolerance(measure) == (6e-6 if backend.name == "ir_measures" and _gdeval(measure) else 1e-9)


def _gdeval(measure: Measure) -> bool:
    return measure.family == "ERR" or measure.gain == "exp"


SUPPORT = {
    "builtin": set(KERNELS) | {m for m in FOREIGN if m.startswith("IPrec@")},
    "pytrec_eval": {k for k in KERNELS if not _gdeval(parse(k)) and parse(k).family != "RBP"}
    | {"SetP", "SetP(relative=True)", "SetR", "SetF", "SetF(beta=0.5)", "SetAP", "IPrec@0", "IPrec@0.1", "IPrec@1",
       "11pt_avg", "infAP", "relative_P@5"} | {f for f in FOREIGN if "judged_only" in f},
    "ir_measures": set(KERNELS) | set(FOREIGN) - {"F1@5", "11pt_avg", "relative_P@5"},
    "ranx": {k for k in KERNELS if parse(k).family != "ERR"} | {"F1@5", "SetP", "SetR", "SetF"},
}  # fmt: skip


@pytest.mark.parametrize("name", SUPPORT)
def test_who_computes_what(name: str) -> None:
    backend = BuiltinBackend() if name == "builtin" else BY_BACKEND[name]
    assert {m for m in (*KERNELS, *FOREIGN) if backend.why_not(parse(m)) is None} == SUPPORT[name]


@pytest.mark.parametrize("measure", leveled(FOREIGN, (1, 2)), ids=str)
def test_foreign_measures_agree_stay_in_0_1_and_are_what_the_table_says(measure: Measure) -> None:
    qrels, run = QRELS, RUN
    if measure.family == "Accuracy":  # not defined where everything retrieved is relevant
        run = {q: {d: s for d, s in scores.items()} | {"99": -1.0, "98": 0.5} for q, scores in run.items()}
        run = {q: scores if len(scores) > 15 else {} for q, scores in run.items()}
    able = [b for b in BACKENDS if b.why_not(measure) is None]
    values = [np.array(b.score(measure, qrels, run)) for b in able]
    for other in values:
        np.testing.assert_allclose(other, values[0], rtol=0, atol=1e-12)
    assert values[0].shape == (len(qrels),)
    assert values[0].min() >= 0
    assert values[0].max() <= 1
    assert values[0].max() > 0
    without = {q: {d: s for d, s in run[q].items() if qrels[q].get(d, 0) < measure.rel} for q in run}
    if zero_without_gold(measure):
        assert max(able[0].score(measure, qrels, without)) == 0
    last = {q: max((at for at, d in enumerate(scores) if d in qrels[q]), default=-1) + 1 for q, scores in run.items()}
    cut = {q: dict(list(scores.items())[: last[q]]) for q, scores in run.items()}
    if looks_to(measure) == "last judged document":
        np.testing.assert_allclose(able[0].score(measure, qrels, cut), values[0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda b: b.name)
def test_order_of_lines_and_queries_without_anything(backend: Backend) -> None:
    measure = parse("bpref") if backend.name != "ranx" else parse("AP")
    shuffled = {q: dict(sorted(RUN[q].items())) for q in sorted(RUN, reverse=True)}
    assert list(backend.score(measure, QRELS, shuffled)) == list(backend.score(measure, QRELS, RUN))
    empty: Qrels = {"0": {}, "1": {"1": 1}}
    first, _ = backend.score(measure, empty, {"1": {"1": 1.0, "2": 0.5}, "0": {}})
    assert first == 0
    assert list(backend.score(parse("RR@1"), empty, {"1": {"2": 1.0, "1": 2.0}, "0": {"5": 1.0}})) == [0.0, 1.0]


def test_cases_of_the_public_record() -> None:
    """Inputs that users tripped over, with values worked out by hand."""
    pytrec, irm, ranx = BACKENDS
    graded: tuple[Qrels, Run] = ({"0": {"0": 1, "1": 2}}, {"0": {"0": 2.0, "1": 1.0}})
    for backend in (pytrec, irm, ranx, BuiltinBackend()):
        assert backend.score(parse("nDCG"), *graded) == pytest.approx([0.8597186998521972], abs=1e-12)
        assert backend.score(parse("AP", rel=2), *graded) == pytest.approx([0.5], abs=1e-12)
    for backend in (irm, ranx, BuiltinBackend()):
        assert backend.score(parse("nDCG(dcg='exp-log2')"), *graded) == pytest.approx([0.79671], abs=6e-6)
        assert backend.score(parse("RBP(p=0.8)"), *graded) == pytest.approx([0.2 * 1.8], abs=1e-12)
    assert irm.score(parse("ERR@10"), *graded) == pytest.approx([1 / 16 + 15 / 16 * 3 / 16 / 2], abs=6e-6)
    negative: tuple[Qrels, Run] = ({"0": {"0": -1, "1": 1, "2": 0}}, {"0": {"0": 3.0, "1": 2.0, "2": 1.0}})
    for backend in (pytrec, irm, ranx, BuiltinBackend()):
        assert list(backend.score(parse("bpref"), *negative)) == [1.0]
    late: tuple[Qrels, Run] = ({"0": {"11": 1}}, {"0": {str(i): 50.0 - i for i in range(20)}})
    for backend in (pytrec, irm, ranx, BuiltinBackend()):
        assert list(backend.score(parse("RR@10"), *late)) == [0.0]
        assert backend.score(parse("RR"), *late) == pytest.approx([1 / 12], abs=1e-12)


def test_ranx_goes_on_behind_a_query_without_gold() -> None:
    qrels = {str(i): {"1": 0} if i == 0 else {"1": 1, "2": 0} for i in range(30)}
    run = {q: {"1": 2.0, "2": 1.0} for q in qrels}
    assert list(RanxBackend().score(parse("bpref"), qrels, run)) == [0.0] + [1.0] * 29


def test_ranx_leaves_the_number_of_threads_alone() -> None:
    import numba

    before = numba.get_num_threads()
    RanxBackend().score(parse("AP"), {"0": {"1": 1}}, {"0": {"1": 1.0}})
    assert numba.get_num_threads() == before


def test_refusals_name_the_limit_and_the_cure() -> None:
    high: tuple[Qrels, Run] = ({"0": {"0": 5}}, {"0": {"0": 1.0}})
    irm = IrMeasuresBackend()
    with pytest.raises(BackendError, match=r"gdeval, which stops at grades above 4, and one is 5.*builtin or ranx"):
        irm.score(parse("nDCG(dcg='exp-log2')@5"), *high)
    with pytest.raises(BackendError, match="grades up to 4"):
        irm.score(parse("ERR@5"), *high)
    with pytest.raises(MeasureError, match="grades up to 4"):
        BuiltinBackend().score(parse("ERR@5"), *high)
    with pytest.raises(BackendError, match="max_rel=5"):
        irm.score(parse("INST(max_rel=3)"), *high)
    with pytest.raises(BackendError, match="every retrieved document is relevant"):
        irm.score(parse("Accuracy"), *high)
    assert "subtopic" in str(irm.why_not(parse("alpha_nDCG@5")))
    assert "ranx" in str(irm.why_not(parse("F1@5")))
    assert "pytrec_eval" in str(irm.why_not(parse("11pt_avg")))
    assert "ir_measures" in str(RanxBackend().why_not(parse("Compat")))
    assert "RR@5" in str(PytrecEvalBackend().why_not(parse("RR(judged_only=True)@5")))
    assert "measures" in str(BuiltinBackend().why_not(Measure("Strange")))
    for backend in (*BACKENDS, BuiltinBackend()):
        with pytest.raises(BackendError, match="no legal cutoff"):
            backend.score(Measure("P", 0), *high)


def test_a_missing_library_or_provider_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    import ir_measures

    monkeypatch.setattr(ir_measures.cwl_eval, "_is_available", False)
    monkeypatch.setattr(ir_measures.gdeval, "_is_available", False)
    irm = IrMeasuresBackend()
    why = irm.why_not(parse("RBP"))
    assert why is not None
    assert "cwl_eval: pip install ir-measures[cwl_eval]" in why
    assert "--backend builtin" in why
    assert "perl" in str(irm.why_not(parse("ERR@5")))
    assert irm.why_not(parse("nDCG@5")) is None
    monkeypatch.setattr(translate, "find_spec", lambda _name: None)
    for backend, extra in zip(BACKENDS, ("pytrec-eval", "ir-measures", "ranx"), strict=True):
        assert f"pip install 'falsify-adapters[{extra}]'" in str(backend.why_not(parse("nDCG@5")))


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)


def test_no_adapter_loads_its_library_before_it_is_asked() -> None:
    done = run_python(
        "import sys\n"
        "import falsify_adapters.adapters.builtin, falsify_adapters.adapters.ir_measures_adapter\n"
        "import falsify_adapters.adapters.pytrec_eval_adapter, falsify_adapters.adapters.ranx_adapter as r\n"
        "from falsify_adapters.measures import parse\n"
        "r.RanxBackend().why_not(parse('AP')), r.RanxBackend().why_not(parse('ERR'))\n"
        "print([m for m in ('ir_measures', 'pytrec_eval', 'ranx', 'numba', 'pandas', 'scipy') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_what_kills_the_process_never_reaches_a_library() -> None:
    """Each of these ends pytrec_eval's process (SIGABRT, SIGSEGV) or keeps it busy for minutes if handed over as is."""
    done = run_python(
        "from falsify_adapters.errors import FalsifyError\n"
        "from falsify_adapters.measures import Measure, parse\n"
        "from falsify_adapters.adapters.ir_measures_adapter import IrMeasuresBackend\n"
        "from falsify_adapters.adapters.pytrec_eval_adapter import PytrecEvalBackend\n"
        "qrels, run = {'0': {'1': -1}, '1': {'1': 10**9, '2': -1}}, {'0': {'1': 1.0}, '1': {'1': 2.0, '2': 1.0}}\n"
        "for text in ('ndcg.10', 'P.0', 'ndcg_cut.0', 'P@0', 'iprec_at_recall.2', Measure('P', 0)):\n"
        "    try: parse(text)\n"
        "    except FalsifyError: print('refused')\n"
        "for measure in (Measure('P', 0), Measure('nDCG', 0), Measure('nDCG', -3), Measure('AP', 0)):\n"
        "    for backend in (PytrecEvalBackend(), IrMeasuresBackend()):\n"
        "        try: backend.score(measure, qrels, run)\n"
        "        except FalsifyError: print('refused')\n"
        "for backend in (PytrecEvalBackend(), IrMeasuresBackend()):\n"
        "    try: backend.score(parse('nDCG@5'), {'0': {'1': 10**9}}, {'0': {'1': 1.0}})\n"
        "    except FalsifyError: print('refused')\n"
        "    print(*backend.score(parse('nDCG'), {'0': {'1': 10**6}}, {'0': {'1': 1.0}}))\n"
        "for _ in range(100):\n"
        "    for backend in (PytrecEvalBackend(), IrMeasuresBackend()):\n"
        "        for text in ('bpref', 'AP', 'Rprec', 'infAP', 'bpref(rel=2147483647)'):\n"
        "            first, second = backend.score(parse(text), qrels, run)\n"
        "            assert first == 0 and second == (0 if 'rel' in text else 1), (text, first, second)\n"
        "        negative = {'0': {'1': -1}, '1': {'1': -2, '2': -1}}\n"
        "        for text in ('bpref', 'nDCG', 'nDCG@5', 'AP', 'IPrec@0', '11pt_avg', 'nDCG(judged_only=True)'):\n"
        "            if backend.why_not(parse(text)) is None:\n"
        "                values = backend.score(parse(text), negative, {'0': {}, '1': {'1': 1.0}})\n"
        "                assert list(values) == [0, 0], text\n"
        "print('alive')"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["refused"] * 14 + ["refused", "1.0"] * 2 + ["alive"]


@pytest.mark.parametrize("name", [f.name for f in FAMILIES])
def test_every_family_of_the_table_has_someone_or_a_reason(name: str) -> None:
    measure = parse({"P": "P@5", "IPrec": "IPrec@0.1"}.get(name, _legal(name)))
    reasons = [b.why_not(measure) for b in (*BACKENDS, BuiltinBackend())]
    assert None in reasons or all(r and "subtopic" in r for r in reasons)


def _legal(name: str) -> str:
    family = next(f for f in FAMILIES if f.name == name)
    inner = ",".join(f"{p}=3" for p, spec in family.params.items() if spec.default is None)
    return name + (f"({inner})" if inner else "") + ("@5" if family.cutoff == "required" else "")
