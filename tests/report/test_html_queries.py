"""The picture of the queries: its steps are the scores, its sentence counts them, its table names both ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from made_reports import good

from falsify_adapters.report.html_queries import BINS, closest, queries, summary
from falsify_adapters.report.markup import join


def made(n: int, attack: str = "q") -> dict[str, Any]:
    rows = [
        {
            "query": f"{attack}{i}", "score": i / (n - 1), "floor": 0.01, "gold": 1, "retrieved": 10,
            **{f"null_{x}": 0.25 for x in "ABCD"},
        }
        for i in range(n)
    ]  # fmt: skip
    return good(per_query=rows)


def shown(result: dict[str, Any]) -> str:
    return str(join(queries("queries-1", result), "\n"))


def test_nothing_is_shown_without_values() -> None:
    assert queries("queries-1", good()) == []


def test_the_null_is_the_one_that_is_closest() -> None:
    assert closest(good()) == "D"  # expects 0.0301, the most


def test_the_sentence_counts() -> None:
    said = summary([1.0, 1.0, 0.5, 0.0, 0.0], [0.1, 0.1, 0.6, 0.1, 0.0], "A")
    assert said == "Half of the score comes from 2 of 5 queries; 2 score less than null A expects of them, 2 score 0."
    assert summary([0.0, 0.0], [0.1, 0.0], "C").startswith("No query scores anything; 1 score less")


@pytest.mark.parametrize("n", [2, 11, 7000])
def test_the_steps_are_the_scores_best_gap_first(n: int) -> None:
    text = shown(made(n))
    area = re.search(r'd="(M0 1000.*?)" class="queries"', text)
    assert area is not None
    heights = [1 - float(y) / 1000 for y in re.findall(r"V([\d.e-]+)H", area[1])]
    assert len(heights) == min(n, BINS)
    assert heights == sorted(heights, reverse=True)
    assert sum(heights) / len(heights) == pytest.approx(0.5, abs=0.002)
    assert len(text) < 30_000
    named = re.findall(r'<th scope="row">(.*?)</th>', text)
    if n > 10:
        assert named[0] == f"q{n - 1}"
        assert named[-1] == "q0"
        assert named[5] == f"… {n - 10} more …"
    else:
        assert named == ["q1", "q0"]


def test_ids_are_escaped() -> None:
    assert "<script>" not in shown(made(12, "<script>"))
    assert "&lt;script&gt;11" in shown(made(12, "<script>"))
