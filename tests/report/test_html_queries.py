"""The picture of the queries: its steps are the scores, its sentence counts them, its table names both ends."""

from __future__ import annotations

import re
from typing import Any

import pytest
from made_reports import good

from falsify_adapters.report.html_queries import BINS, NAMED, queries, summary
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
    return str(join(queries("queries-1", result, "D"), "\n"))


def test_nothing_is_shown_without_values() -> None:
    assert queries("queries-1", good(), "D") == []


def test_the_sentence_counts() -> None:
    said = summary([1.0, 1.0, 0.5, 0.0, 0.0], [0.1, 0.1, 0.6, 0.1, 0.0], "A")
    assert said == "Half of the score comes from 2 of 5 queries; 2 score less than null A expects of them, 2 score 0."
    assert summary([0.0, 0.0], [0.1, 0.0], "C").startswith("No query scores anything; 1 score less")


def steps_of(path: str) -> list[tuple[float, float]]:
    """(width, height) of each step, both as shares."""
    left = float(re.match(r"M([\d.]+) 1000", path)[1])  # type: ignore[index]
    out = []
    for y, right in re.findall(r"V([\d.e-]+)H([\d.]+)", path):
        out.append(((float(right) - left) / 1000, 1 - float(y) / 1000))
        left = float(right)
    return out


@pytest.mark.parametrize("n", [2, 21, 7000])
def test_the_steps_are_the_scores_best_gap_first(n: int) -> None:
    text = shown(made(n))
    above, under = (re.search(rf'd="(M[^"]*Z)" class="{kind}"', text) for kind in ("queries", "queries under"))
    assert above is not None
    assert under is not None
    parts = [steps_of(above[1]), steps_of(under[1])]
    heights = [height for part in parts for _, height in part]
    assert heights == sorted(heights, reverse=True)
    assert len(heights) <= min(n, BINS)
    assert sum(width for part in parts for width, _ in part) == pytest.approx(1)
    assert sum(width * height for part in parts for width, height in part) == pytest.approx(0.5, abs=0.001), "the mean"
    below = sum(i / (n - 1) < 0.25 for i in range(n))
    assert sum(width for width, _ in parts[1]) == pytest.approx(below / n, abs=1e-4)
    assert f"{n - below} at or above null D" in text
    assert f"{below} below" in text
    assert len(text) < 40_000
    named = re.findall(r'<th scope="row">(.*?)</th>', text)
    if n > 2 * NAMED:
        assert named[0] == f"q{n - 1}"
        assert named[-1] == "q0"
        assert named[NAMED] == f"… {n - 2 * NAMED} more …"
    else:
        assert named == ["q1", "q0"]


def test_equal_neighbours_are_one_step() -> None:
    result = made(40)
    for one in result["per_query"]:
        one["score"] = 0.5
    path = re.search(r'd="(M[^"]*Z)" class="queries"', shown(result))
    assert path is not None
    assert path[1] == "M0 1000 V0H1000V1000Z"


def test_ids_are_escaped() -> None:
    assert "<script>" not in shown(made(12, "<script>"))
    assert "&lt;script&gt;11" in shown(made(12, "<script>"))
