"""The measures for ir_measures: the gate's numbers, per query and as means, through every way in."""

from __future__ import annotations

import pickle
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
from ir_measures import AP, RR, SetP, nDCG

import falsify_adapters as fa
from falsify_adapters import irm
from falsify_adapters.errors import InputError, MeasureError, OptionError
from falsify_adapters.irm import ChanceCorrected, Floor, Lift

# ir_measures parses with names that Python 3.12 deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:ast\\.:DeprecationWarning")

QRELS = {f"q{q}": {f"d{q}{i}": 2 - i for i in range(3)} | {"d10": 1} for q in range(1, 9)}
RUN = {f"q{q}": {f"d{q + (q % 3 == 0)}{i}": 9.0 - (i * q) % 5 for i in range(6)} for q in range(1, 8)} | {
    "elsewhere": {"d10": 1.0}
}
BASES = ["nDCG@10", "RR@10", "AP(rel=2)@100", "P@5", "RBP(p=0.8)", "bpref", "nDCG"]


def measures(base: Any, pool: Any = 500, **more: Any) -> list[Any]:
    return [
        ChanceCorrected(base, pool=pool, **more),
        Floor(base, pool=pool, **more),
        *(Lift(base, null=null, pool=pool, **more) for null in "ABCD"),
    ]


def told(entry: Any) -> list[float]:
    """What the gate says for these measures."""
    return [entry.result.chance_corrected, entry.result.floor, *(n.delta for n in entry.nulls.values())]


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("more", [{}, {"seed": 3, "n_boot": 200}], ids=["plain", "seeded"])
def test_means_are_what_the_gate_says(base: str, more: dict[str, int]) -> None:
    wanted = measures(base, **more)
    found = ir_measures.calc_aggregate(wanted, QRELS, RUN)
    assert [found[m] for m in wanted] == pytest.approx(
        told(fa.gate(QRELS, RUN, base, pool=500, **more)[base]), abs=1e-14
    )


def test_means_are_what_the_gate_says_on_real_runs(shared: Path) -> None:
    folder = shared / "data" / "corpora" / "cranfield"
    wanted = [m for base in ("nDCG@10", "RR@10", "AP") for m in measures(base, 1400)]
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.txt")))
    evaluator = ir_measures.evaluator([nDCG @ 10, *wanted], qrels)
    for name in ("bm25-doc", "popularity-doc"):
        path = folder / "runs" / f"{name}.run.gz"
        found = evaluator.calc_aggregate(ir_measures.read_trec_run(str(path)))
        report = fa.gate(folder / "qrels.txt", path, ["nDCG@10", "RR@10", "AP"], pool=1400)
        assert [found[m] for m in wanted] == pytest.approx([x for entry in report for x in told(entry)], abs=1e-14)
        assert found[nDCG @ 10] == pytest.approx(report["nDCG@10"].score, abs=1e-9)  # no ties inside the cutoff


def test_every_judged_query_has_a_value_and_they_add_up() -> None:
    base, lift, floor = nDCG @ 10, Lift(nDCG @ 10, null="C", pool=500), Floor(nDCG @ 10, pool=500)
    share = ChanceCorrected(nDCG @ 10, pool=500)
    rows = [
        (m.query_id, str(m.measure), m.value) for m in ir_measures.iter_calc([share, base, lift, floor], QRELS, RUN)
    ]
    table = pd.DataFrame(rows, columns=["query", "measure", "value"]).pivot(index="query", columns="measure")["value"]
    base, lift, floor, share = map(str, (base, lift, floor, share))
    assert list(table.index) == sorted(QRELS)
    np.testing.assert_allclose(table[base] - table[floor], table[lift], atol=1e-12)
    room = (table[lift] / table[share]).dropna().to_numpy()
    np.testing.assert_allclose(room, room[0])
    entry = fa.gate(QRELS, RUN, "nDCG@10", pool=500).entries[0]
    assert room[0] == pytest.approx(entry.result.ceiling - entry.result.floor)
    assert table.loc["q8"].tolist() == [0.0] * 4  # judged, never answered: nothing was drawn either


@pytest.mark.parametrize(
    "base", [nDCG @ 10, AP(rel=2) @ 100, RR, "AP(rel=2)@100", nDCG(dcg="exp-log2") @ 5, SetP, "rbp.95", "map_cut_5"]
)
def test_what_is_printed_is_read_again(base: Any) -> None:
    for measure in measures(base, "ids of mine.txt", seed=7):
        again = ir_measures.parse_measure(str(measure))
        assert again == measure
        assert hash(again) == hash(measure)
        assert type(again) is type(measure)
        assert again.params == measure.params
        assert pickle.loads(pickle.dumps(measure)) == measure
        assert eval(str(measure), vars(irm)) == measure  # and by Python


def test_spellings_of_one_measure_are_one() -> None:
    one = ChanceCorrected(nDCG @ 10, pool=1000)
    assert str(one) == "ChanceCorrected(base='nDCG@10',pool=1000)"
    others = [
        ChanceCorrected("ndcg_cut_10", pool="1000"),
        ChanceCorrected(pool=np.int64(1000))("NDCG@10"),
        ChanceCorrected(nDCG, pool=1000) @ 10,
        ChanceCorrected(nDCG @ 10, pool=1000, seed=0, n_boot=1000),
        ir_measures.parse_measure("ChanceCorrected(base='nDCG', pool=1000)@10"),
    ]
    assert {one, *others} == {one}
    assert Lift("AP", null="a") == Lift(AP, null="A", null_d="documents")
    assert len({one, one(pool=1001), one(seed=1), Floor(nDCG @ 10, pool=1000), ChanceCorrected(AP, pool=1000)}) == 5
    assert ChanceCorrected(nDCG @ 10, pool=Path("ids.txt")).params["pool"] == "ids.txt"


def test_draws_are_repeatable_and_follow_the_seed() -> None:
    def drawn(seed: int) -> float:
        return Lift(nDCG @ 10, null="D", seed=seed, n_boot=100).calc_aggregate(QRELS, RUN)

    assert drawn(1) == drawn(1) != drawn(2)
    sets = Lift(nDCG @ 10, null="D", null_d="sets").calc_aggregate(QRELS, RUN)
    assert sets == pytest.approx(fa.gate(QRELS, RUN, null_d="sets")["nDCG@10"].nulls["D"].delta)


def test_values_do_not_depend_on_what_else_is_asked_for() -> None:
    wanted = [m for base in BASES[:3] for m in measures(base)]
    together = set(ir_measures.iter_calc([nDCG @ 10, *wanted, Lift(AP, null="D", seed=5)], QRELS, RUN))
    for measure in wanted:
        assert set(measure.iter_calc(QRELS, RUN)) <= together


def test_what_ir_measures_holds_qrels_and_runs_in() -> None:
    wanted = measures(nDCG @ 10)
    qrels = [ir_measures.Qrel(q, d, g) for q, docs in QRELS.items() for d, g in docs.items()]
    run = [ir_measures.ScoredDoc(q, d, s) for q, docs in RUN.items() for d, s in docs.items()]
    expected = ir_measures.calc(wanted, QRELS, RUN)
    for gold, found in [(qrels, run), (iter(qrels), iter(run)), (pd.DataFrame(qrels), pd.DataFrame(run))]:
        assert ir_measures.calc([*wanted, AP], gold, found).aggregated.items() >= expected.aggregated.items()
    assert ir_measures.calc(wanted, iter(qrels), iter(run)) == expected


@pytest.mark.parametrize("run", [{}, [], iter(()), pd.DataFrame({"query_id": [], "doc_id": [], "score": []})])
def test_an_empty_run_scores_nothing_as_with_native_measures(run: Any) -> None:
    results = ir_measures.calc(measures(nDCG @ 10), QRELS, run)
    assert set(results.aggregated.values()) == {0.0}
    assert len(results.per_query) == 6 * len(QRELS)


def test_without_room_there_is_no_share() -> None:
    qrels, run = {"a": {"x": 1}, "b": {"y": 1}}, {"a": {"x": 1.0, "z": 0.0}, "b": {"z": 2.0, "y": 1.0}}
    share = ChanceCorrected("Success@2", pool="run")
    assert fa.gate(qrels, run, "Success@2", pool="run").entries[0].result.chance_corrected is None
    assert np.isnan(share.calc_aggregate(qrels, run))


def test_pools_that_are_no_number(tmp_path: Path) -> None:
    path = tmp_path / "ids.txt"
    path.write_text("".join(f"d{q}{i}\n" for q in range(1, 11) for i in range(9)), encoding="utf-8")
    found = ChanceCorrected(RR @ 10, pool=path).calc_aggregate(QRELS, RUN)
    assert found == pytest.approx(fa.gate(QRELS, RUN, "RR@10", pool=90)["RR@10"].result.chance_corrected)
    own = Floor(RR @ 10, pool="run").calc_aggregate(QRELS, RUN)
    assert own == pytest.approx(fa.gate(QRELS, RUN, "RR@10", pool="run")["RR@10"].result.floor)


def test_a_tie_is_broken_as_by_the_gate() -> None:
    qrels, run = {"q": {"b": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    lift, floor = (m(RR @ 10, pool=50, **k) for m, k in ((Lift, {"null": "C"}), (Floor, {})))
    found = ir_measures.calc_aggregate([lift, floor], qrels, run)
    assert found[lift] + found[floor] == 1.0  # descending ids, as trec_eval


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: ChanceCorrected(nDCG @ 10).calc_aggregate(QRELS, RUN), MeasureError, r"needs pool\. Write Chance"),
        (lambda: Lift(nDCG @ 10).calc_aggregate(QRELS, RUN), MeasureError, r"needs null\. Write Lift\(base="),
        (lambda: Lift(nDCG @ 10, null="C").calc_aggregate(QRELS, RUN), MeasureError, r"needs pool\. Write Lift"),
        (lambda: Floor(pool=9).calc_aggregate(QRELS, RUN), MeasureError, r"Floor\(pool=9\) needs base"),
        (lambda: ChanceCorrected @ 10, MeasureError, "no measure to cut at 10"),
        (lambda: ChanceCorrected(nDCG @ 10, n=5), MeasureError, "no parameter 'n'. Legal: base, pool, n_boot, seed"),
        (lambda: ChanceCorrected("nDGC@10"), MeasureError, "nDGC"),
        (lambda: ChanceCorrected(ir_measures.NumRet, pool=5), MeasureError, "NumRet"),
        (lambda: ChanceCorrected(ChanceCorrected(nDCG @ 10, pool=5), pool=5), MeasureError, "ChanceCorrected"),
        (lambda: Floor(nDCG @ 10, pool=2.5), OptionError, "2.5 is no pool"),
        (lambda: Lift(nDCG @ 10, null="E"), OptionError, "E"),
        (lambda: Lift(nDCG @ 10, null=3), OptionError, "3 is no null"),
        (lambda: Lift(nDCG @ 10, null="D", n_boot=1), OptionError, "n-boot"),
        (lambda: Lift(nDCG @ 10, null="D", null_d="all"), OptionError, "null-d"),
        (lambda: Floor(nDCG @ 10, pool=5).calc_aggregate(QRELS, RUN), OptionError, "a pool of 5 documents"),
        (lambda: Floor(AP, pool=500).calc_aggregate({"q": {"d": 0.5}}, RUN), InputError, "grade 0.5"),
    ],
)
def test_faults(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()


def test_registering_again_changes_nothing() -> None:
    before = list(ir_measures.DefaultPipeline.providers)
    irm.register()
    assert ir_measures.DefaultPipeline.providers == before
    assert [p.NAME for p in before].count("falsify_adapters") == 1
    assert not ir_measures.providers.registry["falsify_adapters"].supports(nDCG @ 10)


def write(folder: Path) -> tuple[str, str]:
    qrels, run = folder / "qrels.txt", folder / "a.run"
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, x in QRELS.items() for d, g in x.items()), encoding="utf-8")
    run.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, x in RUN.items() for d, s in x.items()), encoding="utf-8")
    return str(qrels), str(run)


def command(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "falsify_adapters.irm", *args], capture_output=True, text=True, timeout=60
    )


def test_the_command_line_of_ir_measures(tmp_path: Path) -> None:
    paths = write(tmp_path)
    share = "ChanceCorrected(base='nDCG@10',pool=500)"
    done = command(*paths, f"nDCG@10 {share}", "-p", "12")
    assert done.returncode == 0, done.stderr
    entry = fa.gate(*paths, "nDCG@10", pool=500)["nDCG@10"]
    assert done.stdout == f"nDCG@10\t{entry.score:.12f}\n{share}\t{entry.result.chance_corrected:.12f}\n"
    failed = command(*paths, "Floor(base='AP',pool=3)")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "a pool of 3 documents is too small" in failed.stderr
    assert "Traceback" not in failed.stderr


def test_without_ir_measures_the_cure_is_said() -> None:
    code = (
        "import sys; sys.modules['ir_measures'] = None\n"
        "from falsify_adapters.errors import NotInstalledError\n"
        "try:\n    import falsify_adapters.irm\nexcept NotInstalledError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "ir_measures is not installed. pip install 'falsify-adapters[ir-measures]' brings it.\n"


ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", ["ir_measures", "pyterrier"])
def test_the_examples_print_what_their_pages_show(name: str) -> None:
    if find_spec("pyterrier") is None and name == "pyterrier":
        name = "ir_measures"  # without PyTerrier its example prints the gate's report instead
    example = [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}_gate.py")]
    done = subprocess.run(example, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    assert f"`examples/{name}_gate.py` prints, on made data:\n\n```\n{done.stdout}```\n" in page


def test_the_example_takes_files(tmp_path: Path) -> None:
    example = [sys.executable, "-W", "error", str(ROOT / "examples" / "ir_measures_gate.py"), *write(tmp_path), "500"]
    done = subprocess.run(example, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Floor(base='nDCG@10',pool=500) {fa.gate(QRELS, RUN, pool=500).entries[0].result.floor:.4f}" in " ".join(
        done.stdout.split()
    )
