"""The queries of one row of the gate: which carry the score, which lie under their null."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from falsify_adapters.report.html import table
from falsify_adapters.report.markup import Child, Markup, el
from falsify_adapters.report.safe import count, number, short

BINS = 300  # steps of the picture at most: a page of 7000 queries stays small
NAMED = 10  # queries named at either end
HEIGHT = 150  # pixels


def queries(name: str, result: Mapping[str, Any], null: str, *, unfolded: bool = True) -> list[Child]:
    """A picture of all queries, best gap to the null first, and the first and last by name; nothing without values.

    unfolded: whether the names are shown without being asked for.
    """
    rows = result.get("per_query")
    if not rows:
        return []
    order = sorted(rows, key=lambda row: (row[f"null_{null}"] - row["score"], -row["score"], row["query"]))
    scores, expected = [row["score"] for row in order], [row[f"null_{null}"] for row in order]
    said = summary(scores, expected, null)
    picture = _figure(name, result, scores, expected, null, said)
    ends = el(
        "details", el("summary", "The queries that gain most and least"), _ends(order, null, result), open=unfolded
    )
    return [el("h3", "Query by query"), el("p", said), picture, ends]


def summary(scores: Sequence[float], expected: Sequence[float], null: str) -> str:
    """How many queries carry half of the score, and how many lie under what the null expects of them."""
    total, so_far, needed = sum(scores), 0.0, 0
    for value in sorted(scores, reverse=True):
        if so_far >= total / 2:
            break
        so_far, needed = so_far + value, needed + 1
    n = len(scores)
    under = sum(s < e for s, e in zip(scores, expected, strict=True))
    nothing = sum(s == 0 for s in scores)
    half = "no query scores anything" if total == 0 else f"half of the score comes from {needed} of {count(n, 'query')}"
    return f"{half.capitalize()}; {under} score less than null {null} expects of them, {nothing} score 0."


def _figure(
    name: str, result: Mapping[str, Any], scores: Sequence[float], expected: Sequence[float], null: str, said: str
) -> Markup:
    """Left of the dotted line the queries that reach what the null expects of them, right of it the others."""
    top, n = max(*scores, *expected, 1e-9), len(scores)
    under = sum(s < e for s, e in zip(scores, expected, strict=True))
    cut = n - under
    parts: list[Child] = []
    for first, last, kind in ((0, cut, "queries"), (cut, n, "queries under")):
        if last > first:
            bins = BINS if under in (0, n) else max(1, BINS * (last - first) // n)
            ends = (1000 * first / n, 1000 * last / n)
            parts.append(el("path", d=_steps(_binned(scores[first:last], bins), top, *ends, closed=True), class_=kind))
            line = _steps(_binned(expected[first:last], bins), top, *ends, closed=False)
            parts.append(el("path", d=line, class_="null-line", vector_effect="non-scaling-stroke"))
    title = f"{result['run']}, {result['measure']}: the score of each query, by its gap to null {null}"
    inner = el(
        "svg", parts,
        viewBox="0 0 1000 1000", preserveAspectRatio="none", x="0", y="18", width="100%", height=HEIGHT,
    )  # fmt: skip
    bottom = HEIGHT + 18
    at = f"{100 * cut / n:.3f}%"
    labels = [
        el("text", number(top, 2), x="0", y="13", class_="tick"),
        el("line", x1="0", x2="100%", y1=bottom, y2=bottom, class_="axis"),
        el("text", f"{cut} at or above null {null}", x="0", y=bottom + 17, class_="tick"),
        el("text", f"{under} below", x="100%", y=bottom + 17, text_anchor="end", class_="tick below"),
        el("line", x1=at, x2=at, y1=18, y2=bottom + 6, class_="mark floor") if 0 < under < n else None,
    ]
    picture = el(
        "svg", el("title", title, id=f"{name}-title"), el("desc", said, id=f"{name}-desc"), inner, labels,
        role="img", aria_labelledby=f"{name}-title {name}-desc", width="100%", height=bottom + 24,
        xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip
    caption = (
        f"Blue: the score of each query, the one furthest above null {null} first. Red line: what the null expects of "
        "it. Right of the dotted line the queries that score less than that."
    )
    return el("figure", picture, el("figcaption", caption))


def _binned(values: Sequence[float], bins: int) -> list[float]:
    """Means of neighbours where there are more values than steps to draw."""
    n = len(values)
    if n <= bins:
        return list(values)
    edges = [n * i // bins for i in range(bins + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]


def _steps(values: Sequence[float], top: float, left: float, right: float, *, closed: bool) -> str:
    """A path of steps from left to right in a square of 1000, y upside down; equal neighbours are one step."""
    wide = (right - left) / len(values)
    parts = [f"M{left:.5g} {'1000' if closed else _y(values[0], top)}"]
    for i, value in enumerate(values):
        if i + 1 == len(values) or _y(values[i + 1], top) != _y(value, top):
            parts.append(f"V{_y(value, top)}H{left + wide * (i + 1):.5g}")
    return " ".join(parts) + ("V1000Z" if closed else "")


def _y(value: float, top: float) -> str:
    return f"{1000 * (1 - value / top):.4g}"


def _ends(order: Sequence[Mapping[str, Any]], null: str, result: Mapping[str, Any]) -> Markup:
    heads = ("query", "score", f"null {null} expects", "gap", "floor", "gold", "retrieved")
    chosen = [*order] if len(order) <= 2 * NAMED else [*order[:NAMED], None, *order[-NAMED:]]
    lines: list[list[Child]] = []
    for row in chosen:
        if row is None:
            lines.append([f"… {len(order) - 2 * NAMED} more …", *[""] * (len(heads) - 1)])
            continue
        gap = row["score"] - row[f"null_{null}"]
        numbers = [number(row["score"]), short(row[f"null_{null}"]), number(gap), short(row["floor"])]
        lines.append([row["query"], *numbers, str(row["gold"]), str(row["retrieved"])])
    of = f"{result['run']}, {result['measure']}"
    return table(f"By the gap to null {null}", heads, lines, name="names", of=of)
