"""The demo says what its own numbers say."""

from __future__ import annotations

import pytest

from falsify_adapters import cli
from falsify_adapters.demo import CANDIDATES, DOCUMENTS, GOLD, QUERIES, SYSTEMS, benchmarks, results


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


def test_the_command_prints_both_and_exits_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["demo"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "A pool of 200 documents" in lines
    assert "A pool of 8 candidates a query" in lines
    assert max(map(len, lines)) <= 80
