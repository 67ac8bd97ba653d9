"""The picture of one row of the gate, as the page shows it: a bar of the score for each null, the null in red."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falsify_adapters.report.advice import NULLS
from falsify_adapters.report.html import KINDS
from falsify_adapters.report.markup import Markup, el
from falsify_adapters.report.picture import Picture, Scale
from falsify_adapters.report.safe import interval, number
from falsify_adapters.report.text import NAMES, shown_verdict

WORDS = {"pass": "passes", "fail": "fails", "under-ns": "too few queries", "toothless": "says nothing here"}
SIGNS = {"pass": "✓", "fail": "✗", "under-ns": "?", "toothless": "·"}
MINI = 5.5  # rem: the width of a bar in the table of all rows


def keys_of(result: Mapping[str, Any]) -> list[str]:
    """The nulls of a row: A to D, then those of plugins by name."""
    given = result["nulls"]
    return [key for key in [*NULLS, *sorted(set(given) - set(NULLS))] if key in given]


def name_of(key: str) -> str:
    return f"{key} {NAMES[key]}" if key in NAMES else key


def scale_of(result: Mapping[str, Any], tau: float) -> tuple[float, float, bool]:
    """Both ends of the picture's scale, and whether the ceiling lies on it.

    The ceiling is left off where everything else lies in the first third: the gap would be too small to see.
    """
    ends = [0.0, result["score"], result["floor"], *(result["tie_span"] or ())]
    for null in result["nulls"].values():
        ends += [null["mean"] + x for x in (0.0, tau, *(null["ci95"] or ()), *(null["ci"] or ()))]
    ceiling = 1.0 if result["ceiling"] is None else result["ceiling"]
    if 3 * max(ends) < ceiling:
        return min(ends), 1.15 * max(ends), False
    return min(ends), max(*ends, ceiling), True


def figure(name: str, result: Mapping[str, Any], options: Mapping[str, Any]) -> Markup:
    """For each null the score as a bar, pale as far as the null reaches; the null in red; in grey tau beyond it."""
    score, tau = result["score"], options["tau"]
    low, high, whole = scale_of(result, tau)
    picture = Picture(Scale(low, high))
    picture.mark(result["floor"], f"floor {number(result['floor'])}", "floor")
    if result["ceiling"] is not None and whole:
        picture.mark(result["ceiling"], f"ceiling {number(result['ceiling'])}", "ceiling")
    elif result["ceiling"] is not None:
        picture.beyond(f"ceiling {number(result['ceiling'])} →", "ceiling")
    picture.mark(score, f"score {number(score)}", "score")
    said = [f"Score {number(score)}, floor {number(result['floor'])}, ceiling {number(result['ceiling'])}."]
    for key in keys_of(result):
        null, kind = result["nulls"][key], shown_verdict(result, options, key)
        mean, colour = null["mean"], KINDS.get(kind, "fail")
        y = picture.row(name_of(key), f"{SIGNS[kind]} gap {number(null['delta'])}, {WORDS[kind]}", colour)
        _bar(picture, score, mean, tau, y, colour)
        for part, cap in (("ci", 4), ("ci95", 0)):
            if null[part] is not None:
                picture.whisker([mean + end for end in null[part]], y + 22, part, cap)
        said.append(
            f"Null {name_of(key)}: expected {number(mean)}, gap {number(null['delta'])}, 95 % interval "
            f"{interval(null['ci95'])}; {WORDS[kind]}."
        )
    if result["tied_queries"] and result["tie_span"] is not None:
        y = picture.row("tied documents, any order", interval(result["tie_span"]))
        picture.whisker(result["tie_span"], y + 6, "ties", 6)
        said.append(f"Any order of tied documents gives {interval(result['tie_span'])}.")
    title = f"{result['run']}, {result['measure']}: score, floor, ceiling and the gap to each null"
    caption = (
        f"{result['measure']}. Bars: the score. Red: what each null scores. Grey: the first {tau:g} above the null, "
        "which the bar needs to leave behind. Lines below: where the score would lie with other queries; the thin one "
        "needs to stay right of the red line."
    )
    return el("figure", picture.svg(name, title, " ".join(said)), el("figcaption", caption))


def _bar(picture: Picture, score: float, mean: float, tau: float, y: float, colour: str) -> None:
    picture.bar(mean, mean + tau, y - 4, 20, "zone")
    picture.bar(min(0.0, score), score, y, 12, f"bar {colour}")
    if score > mean:
        picture.bar(max(mean, 0.0), score, y, 12, f"gap {colour}")
    picture.line(mean + tau, y - 4, 20, "tau")
    picture.line(mean, y - 6, 34, "expected")


def mini(result: Mapping[str, Any], options: Mapping[str, Any]) -> Markup:
    """The bar of one row for the table of all rows, from 0 to 1: against the null that asks for most."""
    key = hardest(result, options)
    score, mean, colour = result["score"], result["nulls"][key]["mean"], KINDS.get(result["verdict"].lower(), "fail")
    picture = Picture(Scale(0.0, 1.0))
    _bar(picture, score, mean, options["tau"], 8, colour)
    return picture.bare(22, f"{MINI}rem")


def hardest(result: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """The null with the smallest gap among those that say something; the first of equals."""
    keys = keys_of(result)
    heard = [key for key in keys if shown_verdict(result, options, key) != "toothless"] or keys
    return min(heard, key=lambda key: result["nulls"][key]["delta"])
