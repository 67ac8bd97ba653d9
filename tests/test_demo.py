"""The demo says what its own numbers say."""

from __future__ import annotations

import pytest

from falsify_adapters import cli
from falsify_adapters.demo import (
    CANDIDATES,
    CHUNKS,
    DEPTH,
    DOCUMENTS,
    GOLD,
    QUERIES,
    SYSTEMS,
    benchmarks,
    checks,
    results,
)


def test_both_benchmarks_hold_the_same_queries_gold_and_order_of_documents() -> None:
    sound, broken = benchmarks()
    assert sound.qrels == broken.qrels
    assert len(sound.qrels) == QUERIES
    assert all(len(gold) == GOLD for gold in sound.qrels.values())
    for name in SYSTEMS:
        for query, few in broken.runs[name].items():
            everything = sound.runs[name][query]
            assert len(everything) == DOCUMENTS
            assert len(few) == CANDIDATES
            assert set(sound.qrels[query]) <= set(few)
            assert few.items() <= everything.items()


def test_the_verdicts_are_those_that_the_text_explains() -> None:
    sound, broken = ({row["run"]: row for row in report["results"]} for report in results().values())
    assert {name: row["verdict"] for name, row in sound.items()} == {
        "good": "PASS",
        "random": "UNDER-NS",
        "popularity": "FAIL",
    }
    assert sound["popularity"]["nulls"]["A"]["delta"] == pytest.approx(0, abs=1e-12)
    assert sound["popularity"]["nulls"]["A"]["verdict"] == "fail"
    assert sound["popularity"]["nulls"]["C"]["verdict"] == "pass"
    assert abs(sound["random"]["score"] - sound["random"]["floor"]) < 0.02
    # 1/r summed over P(first gold at r) with 5 gold of 8: 5/8 + 15/56/2 + 5/56/3 + 1/56/4
    assert broken["good"]["floor"] == pytest.approx(5 / 8 + 15 / 112 + 5 / 168 + 1 / 224, abs=1e-12)
    assert {row["verdict"] for row in broken.values()} == {"UNDER-NS"}
    assert {row["nulls"]["C"]["verdict"] for row in broken.values()} == {"under-ns"}


def test_noise_is_the_same_scores_over_both_pools() -> None:
    sound, broken = benchmarks()
    for many, few in zip(sound.noise, broken.noise, strict=True):
        for query, scores in few.items():
            assert len(many[query]) == DEPTH
            assert set(scores) == set(broken.runs["good"][query])
            shared = scores.keys() & many[query].keys()
            assert {doc: scores[doc] for doc in shared} == {doc: many[query][doc] for doc in shared}


def test_the_checks_find_the_small_pool_and_the_wrong_unit() -> None:
    sound, broken, units = checks().values()
    verdicts = [(row["check1"]["verdict"], row["check2"]["verdict"]) for row in (sound, broken, units)]
    assert verdicts == [("pass", "pass"), ("pass", "fail"), ("above", "pass")]
    assert sound["expected"] == pytest.approx(results()[f"a pool of {DOCUMENTS} documents"]["results"][0]["floor"])
    assert broken["expected"] == pytest.approx(5 / 8 + 15 / 112 + 5 / 168 + 1 / 224, abs=1e-12)
    assert units["pool"]["n"] == CHUNKS
    assert {c["unit"]: c["fits"] for c in units["check1"]["candidates"]} == {"chunks": False, "documents": True}


def test_the_command_prints_both_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "A pool of 200 documents" in lines
    assert "A pool of 8 candidates a query" in lines
    assert max(map(len, lines)) <= 80
