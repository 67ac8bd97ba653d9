"""`floor` and `write_noise`: the facts of the record, in documents and in chunks, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import falsify_adapters as fa
from falsify_adapters.errors import FalsifyError, InputError, MissingInputError, OptionError

CANDIDATES = {"chunks": 1052, "files": 218}
MANY = {"pool": 1052, "measured_seeds": 20, "candidates": CANDIDATES}


def production() -> dict[str, dict[str, int]]:
    """28 queries: 21 of one gold file, seven of 2, 2, 2, 3, 3, 3, 3."""
    sizes = [1] * 21 + [2] * 3 + [3] * 4
    return {f"q{n}": {f"f{n}-{i}": 1 for i in range(size)} for n, size in enumerate(sizes)}


def row(measure: str = "RR@10", **options: Any) -> Any:
    return fa.floor(production(), measure, **options)[measure]


def test_floors_of_the_production_benchmark() -> None:
    assert row(pool=218)["expected"] == pytest.approx(0.018555, abs=5e-7)
    assert row(pool=1052)["expected"] == pytest.approx(0.003871, abs=5e-7)
    assert row(pool=218)["sd"] == pytest.approx(0.018, abs=5e-4)
    assert row(pool=218)["check1"] is row(pool=218)["check2"] is None


def test_the_units_bug_is_convicted_and_named() -> None:
    found = row(measured=0.02246, **MANY)["check1"]
    assert round(found["ratio"], 2) == 5.80
    assert (found["verdict"], round(found["implied_n"])) == ("above", 180)
    assert [(c["unit"], c["fits"]) for c in found["candidates"]] == [("chunks", False), ("files", True)]


def test_the_same_noise_over_files_passes() -> None:
    assert round(row(measured=0.02246, pool=218, measured_seeds=20)["check1"]["ratio"], 2) == 1.21
    low = row(measured=0.0153, score=0.358, pool=218, measured_seeds=20)
    assert (round(low["check1"]["ratio"], 2), low["check1"]["verdict"]) == (0.82, "pass")
    assert round(low["check2"]["signal"], 1) == 23.4
    assert round(low["check2"]["signal_over_floor"], 1) == 19.3
    assert low["check2"]["verdict"] == "pass"


def test_one_seed_does_not_convict_and_says_what_would_have() -> None:
    found = row(measured=0.02246, pool=1052)["check1"]
    assert found["verdict"] == "pass"
    assert round(found["p"], 2) == 0.09
    assert found["detectable_ratio"] > 20


def test_the_broken_benchmark_passes_check_1_and_fails_check_2() -> None:
    qrels = {f"q{n}": {f"d{i}": 1 for i in range(5)} for n in range(20)}
    found = fa.floor(qrels, "RR@10", pool=8, measured=0.8)
    assert round(found["RR@10"]["expected"], 3) == 0.793
    assert found["RR@10"]["check1"]["verdict"] == "pass"
    assert found["RR@10"]["check2"]["verdict"] == "fail"
    assert found.failed


def test_a_typed_value_may_be_rounded() -> None:
    """One hit at rank 1 in 28 queries is 0.0357 as typed, and 1/28 in truth."""
    typed, exact = row(measured=["RR@10=0.0357"], pool=1052), row(measured=1 / 28, pool=1052)
    assert typed["check1"]["p"] == pytest.approx(exact["check1"]["p"], rel=1e-6)


def test_measures_are_those_that_are_named() -> None:
    found = fa.floor(production(), pool=218, measured=["RR@10=0.02", "P@5=0.005"])
    assert [r["measure"] for r in found.data["results"]] == ["RR@10", "P@5"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measured": -0.1}, "measured noise"),
        ({"measured": 1.5}, "measured noise"),
        ({"measured": float("nan")}, "measured noise"),
        ({"measured": ["RR@10=much"]}, "no measure with its value"),
        ({"measured": ["P@5=0.1"]}, "not among the measures"),
        ({"measured": 0.1, "measured_seeds": 0}, "--measured-seeds"),
        ({"pool": 0}, "a pool of 0 documents"),
        ({"pool": 20}, "too small"),
        ({"depth": 0}, "--depth"),
        ({"measured": 0.1, "candidates": {"files": 0}}, "files=0"),
        ({"chunks": "chunks.txt"}, "--unit-sep"),
        ({"measured": 0.1, "noise": ["x.run"]}, "--noise, --measured"),
        ({"score": 0.1, "run": "x.run"}, "--run, --score"),
        ({"check_alpha": 0.0}, "--check-alpha"),
    ],
)
def test_what_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(FalsifyError, match=words.replace("=", "=")) as caught:
        row(**{"pool": 218} | options)
    assert "Legal:" in str(caught.value) or caught.value.mend or "pool" in words


def test_a_real_run_pasted_as_noise_is_above_and_overlaps_itself(tmp_path: Path) -> None:
    qrels = production()
    good = {q: {d: 9.0, f"x-{q}": 8.0} for q, judged in qrels.items() for d in list(judged)[:1]}
    found = fa.floor(qrels, "RR@10", noise=[good], run=good, pool=218)["RR@10"]
    assert found["check1"]["verdict"] == "above"
    assert found["noise_overlap"]["verdict"] == "above"
    assert found["noise_overlap"]["observed"] == 1.0
    empty = tmp_path / "empty.run"
    empty.write_text("")
    with pytest.raises(InputError, match=r"empty\.run"):
        fa.floor(qrels, "RR@10", noise=[str(empty)], pool=218)


def test_noise_with_a_reranker_left_on_is_not_noise() -> None:
    """Two seeds whose first documents come from the same scorer, the rest at random."""
    rng = np.random.default_rng(4)
    qrels = production()
    runs = []
    for _ in range(2):
        run = {}
        for n, q in enumerate(qrels):
            kept = [f"bm25-{n}-{i}" for i in range(4)]
            others = [f"x{i}" for i in rng.permutation(200)[:16]]
            run[q] = {d: float(99 - place) for place, d in enumerate([*kept, *others])}
        run["q0"]["f0-0"] = 0.5
        runs.append(run)
    found = fa.floor(qrels, "RR@10", noise=runs, pool=400)["RR@10"]
    assert found["check1"]["verdict"] == "pass"
    assert found["noise_overlap"]["verdict"] == "above"
    assert found["noise_overlap"]["observed"] >= 0.4


def test_noise_runs_are_drawn_over_the_users_ids(tmp_path: Path) -> None:
    ids = tmp_path / "ids.txt"
    ids.write_text("".join(f"f{n}-{i}\n" for n in range(28) for i in range(9)))
    paths = fa.write_noise(production(), pool=str(ids), depth=100, seeds=8, output=tmp_path / "noise")
    assert [p.name for p in paths] == [f"noise-seed{n}.run" for n in range(8)]
    lines = [line.split() for line in paths[0].read_text().splitlines()]
    assert len(lines) == 28 * 100
    assert {f[2] for f in lines} <= set(ids.read_text().split())
    assert len({(f[0], f[2]) for f in lines}) == len(lines)
    found = fa.floor(production(), "RR@10", noise=[str(p) for p in paths], pool=str(ids))["RR@10"]
    assert found["pool"]["n"] == 252
    assert (found["depth"], len(found["check1"]["per_run"])) == (100, 8)
    assert found["check1"]["verdict"] == found["noise_overlap"]["verdict"] == "pass"
    again = fa.write_noise(production(), pool=str(ids), depth=100, seeds=1, output=tmp_path / "again")
    assert again[0].read_bytes() == paths[0].read_bytes()
    with pytest.raises(OptionError, match="--pool FILE"):
        fa.write_noise(production())
    with pytest.raises(MissingInputError, match=r"nowhere\.txt"):
        fa.write_noise(production(), pool=str(tmp_path / "nowhere.txt"))


def test_chunks_of_unequal_documents(tmp_path: Path) -> None:
    """Documents of many chunks come first more often; with one chunk each nothing changes."""
    qrels = {f"q{n}": {f"d{n}": 1} for n in range(6)}
    long, even = tmp_path / "long.txt", tmp_path / "even.txt"
    long.write_text("".join(f"d{n}#{i}\n" for n in range(40) for i in range(9 if n < 6 else 1)))
    even.write_text("".join(f"d{n}#0\n" for n in range(40)))
    uniform = fa.floor(qrels, "RR@10", pool=40)["RR@10"]["expected"]
    same = fa.floor(qrels, "RR@10", chunks=str(even), unit_sep="#")["RR@10"]
    assert same["expected"] == pytest.approx(uniform, rel=1e-10)
    longer = fa.floor(qrels, "RR@10", chunks=str(long), unit="sep:#")["RR@10"]
    assert longer["uniform"] == pytest.approx(uniform, rel=1e-12)
    assert longer["expected"] > 2 * uniform
    assert longer["pool"]["n_chunks"] == 6 * 9 + 34


CORPORA = ("cranfield", "cacm")


@pytest.fixture(params=CORPORA)
def corpus(request: pytest.FixtureRequest, shared: Path) -> Path:
    return shared / "data" / "corpora" / str(request.param)


def test_noise_in_chunks(corpus: Path) -> None:
    runs = [corpus / f"runs/noise-chunk-seed{n}.run.gz" for n in range(5)]
    right = fa.floor(corpus / "qrels.txt", "RR@10", noise=runs, unit_sep="#", chunks=str(corpus / "chunk_ids.txt.gz"))[
        "RR@10"
    ]
    assert round(right["expected"], 7) == {"cranfield": 0.0151902, "cacm": 0.0215195}[corpus.name]
    assert right["check1"]["verdict"] == right["noise_overlap"]["verdict"] == "pass"
    if corpus.name == "cranfield":
        assert right["pool"]["n"] == 1398
        assert right["gold"]["total"] - right["gold"]["in_pool"] == 1
    n_chunks, n_docs = right["pool"]["n_chunks"], right["pool"]["n"]
    wrong = fa.floor(
        corpus / "qrels.txt", "RR@10", noise=runs, unit_sep="#", pool=n_chunks,
        candidates={"chunks": n_chunks, "documents": n_docs},
    )["RR@10"]["check1"]  # fmt: skip
    assert wrong["verdict"] == "above"
    assert [(c["unit"], c["fits"]) for c in wrong["candidates"]] == [("chunks", False), ("documents", True)]


def test_noise_in_documents(corpus: Path) -> None:
    n = {"cranfield": 1400, "cacm": 3204}[corpus.name]

    def check(*names: str) -> Any:
        runs = [corpus / f"runs/{name}.run.gz" for name in names]
        return fa.floor(corpus / "qrels.txt", "nDCG@10", noise=runs, pool=n)["nDCG@10"]["check1"]

    assert check(*(f"noise-doc-seed{i}" for i in range(5)))["verdict"] == "pass"
    for cheat in ("popularity-doc", "bm25-doc-shifted-queries"):
        assert check(cheat)["verdict"] == "above"


def test_candidate_lists_leave_no_room(corpus: Path) -> None:
    lists = corpus / "pool8"
    noise = [lists / f"random-seed{n}.run" for n in range(5)]
    found = fa.floor(lists / "qrels.pool8.txt", "nDCG@10", noise=noise, run=lists / "bm25.run", pool="run")["nDCG@10"]
    assert found["check1"]["verdict"] == "pass"
    assert found["check2"]["verdict"] == "fail"
    assert round(found["expected"], 4) == 0.4942
    if corpus.name == "cranfield":
        assert round(found["check2"]["signal_over_floor"], 2) == 1.80


def test_the_paired_measure_is_not_asked_for_by_itself() -> None:
    """It has gold of its own, so the plain measure's floor or score would be another number under its name."""
    with pytest.raises(FalsifyError, match="beside a graded measure"):
        fa.floor(production(), "R@10(top1)", pool=218)
    with pytest.raises(FalsifyError, match="beside a graded measure"):
        fa.gate(production(), {"q0": {"f0-0": 1.0}}, "R@10(top1)", backend="builtin")
