"""Runs held against noise of other depths, queries and units, and benchmarks without gold within reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsify_adapters as fa
from falsify_adapters.errors import FalsifyError

N, QUERIES = 400, 40
DOCS = [f"d{n}" for n in range(N)]
QRELS = {f"q{q}": {DOCS[(7 * q + j) % N]: 1 for j in range(1 + q % 4)} for q in range(QUERIES)}


def noise(seed: int, depth: int, queries: int = QUERIES, ids: list[str] | None = None) -> dict[str, dict[str, float]]:
    """A random run over the documents, or other ids."""
    rng = np.random.default_rng(seed)
    pool = ids or DOCS
    return {
        f"q{q}": {pool[d]: float(depth - r) for r, d in enumerate(rng.permutation(len(pool))[:depth])}
        for q in range(queries)
    }


def codes(row: Any) -> set[str]:
    return {flag["code"] for flag in row["flags"]}


@pytest.mark.parametrize("measure", ["R@300", "AP", "bpref", "nDCG", "Rprec", "RR"])
@pytest.mark.parametrize("depth", [20, 400])
def test_a_run_is_held_against_the_floor_at_its_own_depth(measure: str, depth: int) -> None:
    run = noise(9, depth)
    row = fa.floor(QRELS, measure, noise=[noise(s, 60) for s in range(5)], run=run, pool=N)[measure]
    two = row["check2"]
    gate = fa.gate(QRELS, run, measure, pool=N, n_boot=100)
    assert two["floor"] == pytest.approx(gate[measure].result.floor, abs=1e-12)
    assert two["chance_corrected"] == pytest.approx(gate[measure].result.chance_corrected, abs=1e-12)
    assert two["noise"] == pytest.approx(min(row["check1"]["ratio"] * two["floor"], 1.0), rel=1e-12)
    assert ("depths_differ" in codes(row)) == (two["floor"] != pytest.approx(row["expected"], rel=1e-12))
    if depth == 400:
        assert 0.6 < two["signal_over_floor"] < 1.5, "a random run is no signal, however deep"
        assert two["verdict"] == "fail"


def test_depths_that_the_measure_does_not_see_change_nothing() -> None:
    row = fa.floor(QRELS, "RR@10", noise=[noise(0, 60), noise(1, 60)], run=noise(9, 300), pool=N)["RR@10"]
    assert row["check2"]["noise"] == row["check1"]["measured"]
    assert row["check2"]["floor"] == row["expected"]
    assert "depths_differ" not in codes(row)


def test_without_noise_the_floor_is_that_of_the_run() -> None:
    run = noise(9, 50)
    row = fa.floor(QRELS, "AP", run=run, pool=N)["AP"]
    assert row["expected"] == row["check2"]["floor"] == fa.gate(QRELS, run, "AP", pool=N, n_boot=100)["AP"].result.floor


def test_noise_for_some_of_the_queries_has_a_floor_over_all_of_them() -> None:
    whole = fa.floor(QRELS, "RR@10", noise=[noise(s, 60) for s in range(3)], pool=N)["RR@10"]
    part = fa.floor(QRELS, "RR@10", noise=[noise(s, 60, 20) for s in range(3)], pool=N)["RR@10"]
    some = {q: QRELS[q] for q in list(QRELS)[:20]}
    alone = fa.floor(some, "RR@10", noise=[noise(s, 60, 20) for s in range(3)], pool=N)["RR@10"]
    assert part["expected"] == pytest.approx(alone["expected"] / 2, rel=1e-12)
    assert part["check1"]["ratio"] == pytest.approx(alone["check1"]["ratio"], rel=1e-12)
    assert "floor_without_lists" in codes(part)
    assert "floor_without_lists" not in codes(whole)


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        ([noise(0, 60), noise(1, 60, 30)], "different queries"),
        ([noise(0, 60), noise(1, 200)], r"different depths, which AP sees.* --depth 60"),
    ],
)
def test_noise_runs_without_a_common_floor_are_refused(runs: list[Any], words: str) -> None:
    with pytest.raises(FalsifyError, match=words):
        fa.floor(QRELS, "AP", noise=runs, pool=N)


CHUNKS = [f"{doc}#{c}" for n, doc in enumerate(DOCS) for c in range(1 + n % 3)]


@pytest.fixture
def chunk_file(tmp_path: Path) -> str:
    path = tmp_path / "chunks.txt"
    path.write_text("\n".join(CHUNKS))
    return str(path)


def test_runs_of_chunks_are_compared_in_chunks(chunk_file: str) -> None:
    runs = [noise(s, 100, ids=CHUNKS) for s in range(3)]
    row = fa.floor(QRELS, "RR@10", noise=runs, unit_sep="#", chunks=chunk_file)["RR@10"]
    assert row["noise_overlap"]["expected"] == pytest.approx(10 / len(CHUNKS))
    assert row["noise_overlap"]["pairs"] == 3
    assert codes(row) == {"units_mapped"}


def test_a_run_of_documents_is_not_compared_with_chunks(chunk_file: str) -> None:
    runs = [noise(s, 100, ids=CHUNKS) for s in range(3)]
    row = fa.floor(QRELS, "RR@10", noise=runs, run=noise(0, 50), unit_sep="#", chunks=chunk_file)["RR@10"]
    assert row["noise_overlap"]["pairs"] == 3
    assert "overlap_untested" in codes(row)


def test_without_the_chunks_the_overlap_is_not_tested() -> None:
    """N in documents would let three times too much pass."""
    twin = noise(0, 100, ids=CHUNKS)
    row = fa.floor(QRELS, "RR@10", noise=[twin, dict(twin)], unit_sep="#", pool=N)["RR@10"]
    assert row["noise_overlap"] is None
    assert {"overlap_untested", "chunks_unknown"} <= codes(row)


def test_lists_that_are_the_whole_pool_cannot_overlap_too_much() -> None:
    small = {q: dict.fromkeys(docs, 1) for q, docs in QRELS.items()}
    lists = [
        {q: {d: float(i) for i, d in enumerate(np.random.default_rng(s).permutation([*small[q], "x", "y", "z"]))}
         for q in small}
        for s in range(2)
    ]  # fmt: skip
    row = fa.floor(small, "RR@10", noise=lists, pool="run")["RR@10"]
    assert row["noise_overlap"] is None
    assert "overlap_untested" in codes(row)


@pytest.mark.parametrize(
    ("qrels", "options", "words"),
    [
        (QRELS, {"rel": 2, "measures": "AP"}, r"no document has a grade of 2 or more.*highest grade is 1.*\(-l\)"),
        ({"q": {"d": 0}}, {"measures": "nDCG@10"}, "no document has a grade of 1 or more"),
        (QRELS, {"pool": "run"}, "there is no run"),
        (QRELS, {"pool": "run", "measured": 0.1, "measures": "RR"}, "there is no run"),
        (QRELS, {"measured": ["RR@10=0.1", "mrr@10=0.2"]}, "RR@10 is given twice"),
        (QRELS, {"score": {"nDCG@10": 0.1, "ndcg_cut_10": 0.2}}, "nDCG@10 is given twice"),
        (QRELS, {"measured": 0.1, "candidates": {"files": 2.5}}, "no pool sizes by unit"),
        (QRELS, {"measured": 0.1, "candidates": [1052]}, "no pool sizes by unit"),
    ],
)
def test_what_has_no_floor_is_refused(qrels: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(FalsifyError, match=words):
        fa.floor(qrels, **{"pool": N, **options})


def test_a_pool_without_gold_is_refused(tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("\n".join(doc.upper() for doc in DOCS))
    with pytest.raises(FalsifyError, match=r"none of the 100 gold documents of .* lies in the pool") as caught:
        fa.floor(QRELS, "RR@10", pool=str(ids))
    assert "spelled alike" in str(caught.value)


def test_chunks_that_the_collection_lacks_are_named(chunk_file: str) -> None:
    run = noise(0, 100, ids=[*CHUNKS, "d3#99"])
    with pytest.raises(FalsifyError, match=r"not 1 of the .* 'd3#99'"):
        fa.gate(QRELS, run, "RR@10", unit_sep="#", chunks=chunk_file, depth=None, n_boot=100)


def test_no_check_is_no_pass() -> None:
    report = fa.floor(QRELS, "RR@10", pool=N)
    assert report.verdict == "NO CHECK"
    assert not report.failed
    assert fa.floor(QRELS, "RR@10", pool=N, score=0.9).verdict == "PASS"


def test_every_file_is_named_with_its_digest(chunk_file: str, tmp_path: Path) -> None:
    import hashlib

    run = tmp_path / "noise.run"
    rows = [(q, d, s) for q, docs in noise(0, 50, ids=CHUNKS).items() for d, s in docs.items()]
    run.write_text("".join(f"{q} Q0 {d} 1 {s} x\n" for q, d, s in rows))
    files = fa.floor(QRELS, "RR@10", noise=[str(run)], unit_sep="#", chunks=chunk_file).to_dict()["files"]
    expected = [("noise", str(run)), ("chunks", chunk_file)]
    assert [(f["role"], f["path"]) for f in files] == expected
    assert [f["sha256"] for f in files] == [hashlib.sha256(Path(p).read_bytes()).hexdigest() for _, p in expected]


def test_documents_evaluated_at_most_are_the_depth_of_random_lists() -> None:
    cut, deep = (fa.floor(QRELS, "AP", pool=N, **{name: 30})["AP"] for name in ("max_docs", "depth"))
    assert cut["expected"] == deep["expected"] < fa.floor(QRELS, "AP", pool=N)["AP"]["expected"]


def test_cutting_documents_after_chunks_is_refused(chunk_file: str) -> None:
    with pytest.raises(FalsifyError, match=r"-M: .*uncut ones.*--depth K"):
        fa.floor(QRELS, "AP", unit_sep="#", chunks=chunk_file, max_docs=10)


@pytest.fixture
def registry() -> Any:
    """With a measure Any@k, the same as Success@k, which has no kernel under this name."""
    from falsify_adapters.hookspecs import hookimpl
    from falsify_adapters.measure_names import REQUIRED, Family
    from falsify_adapters.offers import MeasureSpec, Offer
    from falsify_adapters.registry import Registry

    def score(measure: Any, ranked: Any, judged: Any) -> float:  # noqa: ARG001
        return float(any(grade is not None and grade >= measure.rel for grade in ranked))

    family = Family("AnyHit", "any", "1 where one of the first k is relevant.", cutoff=REQUIRED, zero_without_gold=True)

    class Plugin:
        @hookimpl
        def measures(self) -> list[Offer]:
            return [Offer("AnyHit", lambda: MeasureSpec(family, score=score), "any")]

    made = Registry(outside=False)
    made.register(Plugin(), package="made")
    return made


def test_a_measure_without_a_formula_has_a_simulated_floor(registry: Any) -> None:
    runs = {"noise": [noise(s, 60) for s in range(4)], "run": noise(50, 60), "pool": N}
    (mine,) = fa.floor(QRELS, "AnyHit@10", registry=registry, **runs).to_dict()["results"]
    exact = fa.floor(QRELS, "Success@10", **runs)["Success@10"]
    assert mine["method"] == "simulated"
    assert mine["expected"] == pytest.approx(exact["expected"], abs=5 * mine["expected_se"])
    assert 0 < mine["expected_se"] < 0.02
    assert mine["sd"] == pytest.approx(exact["sd"], rel=0.2)
    assert mine["ceiling"] == exact["ceiling"] == 1.0
    assert mine["check1"]["measured"] == exact["check1"]["measured"]
    assert mine["check1"]["p"] == pytest.approx(exact["check1"]["p"], abs=0.15)
    assert mine["check1"]["verdict"] == exact["check1"]["verdict"] == "pass"
    assert mine["check2"]["score"] == exact["check2"]["score"]
    loud = fa.floor(QRELS, "AnyHit@10", registry=registry, pool=N, measured=0.9, measured_seeds=5)
    assert loud.to_dict()["results"][0]["check1"]["verdict"] == "above"


def test_what_a_simulated_floor_cannot_tell_is_refused(registry: Any, chunk_file: str) -> None:
    for options, words in (
        ({"measured": 0.1, "candidates": {"files": 9}}, "cannot be told apart"),
        ({"simulate": 3}, "no formula that --simulate could check"),
        ({"unit_sep": "#", "chunks": chunk_file, "pool": "observed"}, "no kernel, and floors over chunks"),
        ({"pool": 10**9, "depth": 10**9, "measures": "AnyHit@100000000"}, "Give --depth [0-9]+, or a measure with a"),
        ({"pool": 10**7, "measures": "AnyHit@1000000"}, "or a measure with a cutoff"),
    ):
        with pytest.raises(FalsifyError, match=words):
            fa.floor(QRELS, **{"measures": "AnyHit@10", "registry": registry, "pool": N, **options})


def test_a_backend_without_a_use_is_refused() -> None:
    with pytest.raises(FalsifyError, match=r"no backend is asked"):
        fa.floor(QRELS, "AP", pool=N, backend="builtin")
