"""The gate's report as the body of an HTML page."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from typing import Any

from falsify_adapters.report.advice import NULLS, next_steps
from falsify_adapters.report.html import (
    KINDS,
    facts,
    note_links,
    note_list,
    note_numbers,
    settings,
    steps,
    table,
    verdict,
)
from falsify_adapters.report.html_figure import SIGNS, WORDS, figure, hardest, keys_of, mini, name_of
from falsify_adapters.report.html_queries import queries
from falsify_adapters.report.markup import Child, Markup, el, join
from falsify_adapters.report.page import LOUD, Notes, shown
from falsify_adapters.report.safe import count, interval, number, p_value
from falsify_adapters.report.text import shown_verdict


def content(report: Mapping[str, Any], first: Child = None) -> tuple[str, list[Child]]:
    """The page's title, and what its body holds. first: what stands before the rows."""
    results, options = report["results"], report["settings"]
    verdicts = [result["verdict"] for result in results]
    overall = next((word for word in ("FAIL", "UNDER-NS") if word in verdicts), "PASS")
    notes = Notes.of(results)
    names, alone = _short_names(results), len(results) == 1
    runs = {(result["run"], result["path"], result["sha256"]): None for result in results}
    files = [("qrels", report["qrels"]["path"], report["qrels"]["sha256"])]
    files += [(f"run {run}" if run != path else "run", path, digest) for run, path, digest in runs]
    body: list[Child] = [
        el("header", el("h1", "Four-null gate: ", verdict(overall)), _head(report, verdicts)),
        el(
            "main",
            first,
            _summary(results, options, notes) if len(results) > 1 else None,
            join((_section(n, r, options, notes, names[r["run"]], alone) for n, r in enumerate(results, 1)), "\n"),
            _legend(options),
            note_list(notes, results),
            settings(report, files),
        ),
    ]
    return f"Four-null gate: {overall}", body


def _head(report: Mapping[str, Any], verdicts: Sequence[str]) -> list[Markup]:
    qrels, options = report["qrels"], report["settings"]
    lines = []
    if len(verdicts) > 1:
        told = ", ".join(f"{verdicts.count(word)} {word}" for word in ("PASS", "FAIL", "UNDER-NS") if word in verdicts)
        lines.append(el("p", f"{count(len(verdicts), 'row')}, one per run and measure: {told}."))
    lines.append(
        el(
            "p",
            f"A score passes where it lies at least tau = {options['tau']:g} above what each of four nulls scores, and "
            "above 0 with confidence.",
        )
    )
    lines.append(
        el(
            "p",
            f"{qrels['path']}: {count(qrels['queries'], 'query')}, {count(qrels['judgments'], 'judgment')}, "
            f"{qrels['gold']} of them gold. Scored by {options['backend']}.",
            class_="soft",
        )
    )
    for result in report["results"]:
        for flag in result["flags"]:
            if flag["code"] in LOUD:
                said = f"{shown(flag['code'])}: {result['run']}, {result['measure']}. {flag['message']}"
                lines.append(el("p", el("strong", said), class_="fail"))
    return lines


def _short_names(results: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Runs named by their paths, without the folders that all of them share; other names as they are."""
    paths = {result["run"] for result in results if result["run"] == result["path"]}
    shared = posixpath.commonprefix([path.rpartition("/")[0].split("/") for path in paths]) if paths else []
    skipped = len("".join(f"{folder}/" for folder in shared))
    return {r["run"]: r["run"][skipped:] if r["run"] in paths and any(shared) else r["run"] for r in results}


def _summary(results: Sequence[Mapping[str, Any]], options: Mapping[str, Any], notes: Notes) -> Markup:
    extra = sorted({name for result in results for name in result["nulls"]} - set(NULLS))
    keys, names = [*NULLS, *extra], _short_names(results)
    heads = ["run", "measure", "gate", "from 0 to 1", "score", "floor", *(f"gap to {key}" for key in keys)]
    rows: list[list[Child]] = []
    for n, result in enumerate(results, 1):
        gaps = []
        for key in keys:
            null = result["nulls"].get(key)
            sign = "" if null is None else SIGNS[shown_verdict(result, options, key)]
            gaps.append("-" if null is None else f"{number(null['delta'], 3)} {sign}")
        rows.append(
            [
                el("a", names[result["run"]], href=f"#row-{n}"), result["measure"], verdict(result["verdict"]),
                mini(result, options), *(number(result[part], 3) for part in ("score", "floor")), *gaps,
                note_numbers(notes, result),
            ]
        )  # fmt: skip
    signs = "; ".join(f"{SIGNS[key]} {word}" for key, word in WORDS.items())
    explained = f"Bars: the score; red: the null that leaves the smallest gap; grey: tau. Gaps: {signs}."
    words = (0, 1, 2, 3, len(heads))
    return el(
        "section",
        el("h2", "All rows"),
        table("Score, floor and gaps", [*heads, "notes"], rows, words=words, name="names rows"),
        el("p", explained, class_="legend"),
    )


def _section(
    n: int, result: Mapping[str, Any], options: Mapping[str, Any], notes: Notes, name: str, alone: bool
) -> Markup:
    return el(
        "section",
        el("h2", f"{name}, {result['measure']}: ", verdict(result["verdict"])),
        steps(next_steps(result, options), "What this rests on, and what to do"),
        figure(f"picture-{n}", result, options),
        _null_table(result, options),
        queries(f"queries-{n}", result, hardest(result, options), unfolded=alone),
        el(
            "details",
            el("summary", "Numbers of this row"),
            facts(f"{name}, {result['measure']}", _numbers(result)),
            open=alone,
        ),
        note_links(notes, result),
        id=f"row-{n}",
    )


def _null_table(result: Mapping[str, Any], options: Mapping[str, Any]) -> Markup:
    level = 100 * (1 - options["alpha"] / len(NULLS))
    heads = ("null", "verdict", "gap", "expected", "95 % interval", f"{level:g} % interval", "p", "reach", "how")
    rows: list[list[Child]] = []
    for key in keys_of(result):
        null, kind = result["nulls"][key], shown_verdict(result, options, key)
        word = el("span", f"{SIGNS[kind]} {WORDS[kind]}", class_=f"verdict {KINDS.get(kind, 'fail')}")
        rows.append(
            [
                name_of(key), word, number(null["delta"]), number(null["mean"]) + _error(null["se"]),
                interval(null["ci95"]), interval(null["ci"]), p_value(null["p"]), number(null["reach"]), null["method"],
            ]
        )  # fmt: skip
    of = f"{result['run']}, {result['measure']}"
    return table("The nulls", heads, rows, words=(0, 1, 8), of=of)


def _error(se: float | None) -> str:
    return "" if not se else f" ± {number(se) if se >= 0.00005 else f'{se:.0e}'}"


def _documents(counted: Mapping[str, Any]) -> str:
    return (
        f"{counted['retrieved']} retrieved, {counted['relevant_retrieved']} of {counted['relevant']} relevant ones "
        "among them"
    )


def _numbers(result: Mapping[str, Any]) -> list[tuple[Child, Child]]:
    queries, pool = result["queries"], result["pool"]
    size = str(pool["n"]) if pool["n"] is not None else f"{pool['n_min']} to {pool['n_max']} a query"
    asked = (
        f"{queries['judged']} judged; {queries['missing']} not in the run (scored 0), {queries['ignored']} only in the "
        f"run (ignored), {queries['without_gold']} without gold (scored 0)"
    )
    source = "the backend" if result["score_source"] == "backend" else "the built-in kernel"
    by = f" ({result['backend']})" if result.get("backend") else ""
    pairs: list[tuple[Child, Child]] = [
        ("score", number(result["score"])),
        ("floor, by random order", number(result["floor"]) + _error(result["floor_se"])),
        ("ceiling, the best possible", number(result["ceiling"])),
        ("chance-corrected score", number(result["chance_corrected"])),
        ("queries", asked),
        ("documents", _documents(result["documents"])),
        ("pool", f"{size} documents ({pool['source']})"),
    ]
    if result["judged_at_k"] is not None:
        pairs.append(("judged share at the cutoff", number(result["judged_at_k"])))
    span = (
        ""
        if result["tie_span"] is None or not result["tied_queries"]
        else f"; any order of them gives {interval(result['tie_span'])}"
    )
    pairs.append(("ties inside the cutoff", f"{count(result['tied_queries'], 'query')}{span}"))
    if result["popularity"] is not None:
        popular = result["popularity"]
        pairs.append(("popularity ranker", f"{number(popular['score'])}, gap {number(popular['delta'])}"))
    if result["paired"] is not None:
        paired = result["paired"]
        pairs.append((f"paired measure {paired['measure']}", f"{number(paired['score'])}, {paired['verdict']}"))
    if result["queries_needed"] is not None:
        pairs.append(("queries that would decide it", f"about {result['queries_needed']}"))
    checked = f"{source}{by}; {count(result['verified_queries'], 'query')} computed both ways"
    return [*pairs, ("score from", checked)]


def _legend(options: Mapping[str, Any]) -> Markup:
    level = 100 * (1 - options["alpha"] / len(NULLS))
    tau = f"{options['tau']:g}"
    signs: list[tuple[list[Markup], str]] = [
        ([_rule("mark score", up=True)], "the score; it runs through all rows, and each bar ends at it"),
        (
            [_rule("mark floor", up=True)],
            "dotted: the floor, what a random order scores, and the ceiling, the best list; an arrow where the ceiling "
            "lies off to the right",
        ),
        ([_rule("expected", up=True)], "red: what the null is expected to score"),
        ([_box("bar pass")], "pale: the part of the score that the null reaches as well"),
        ([_box("gap pass")], "filled: the gap to a null that the score beats"),
        ([_box("gap fail")], "empty: a null that the score does not beat"),
        ([_box("gap open")], "dashed: too few queries to tell"),
        ([_box("gap toothless")], "dotted: a null that no order could fail here; it is left out of the verdict"),
        ([_box("zone")], f"grey: from the null to tau = {tau} above it, where the bar has to reach"),
        ([_rule("ci95")], "thick line below a bar: 95 % interval of the gap, laid off from what the null expects"),
        (
            [_rule("ci")],
            f"thin line: the {level:g} % interval, which decides: it has to stay right of the red line. Where "
            "it reaches from the red line across the grey, the queries are too few",
        ),
        ([_rule("ties")], "the scores that any order of tied documents could give"),
    ]
    return el(
        "section",
        el("h2", "How to read the pictures"),
        el("ul", [el("li", sign, words) for sign, words in signs]),
        class_="legend",
    )


def _rule(kind: str, *, up: bool = False) -> Markup:
    ends = {"x1": 14, "x2": 14, "y1": 1, "y2": 19} if up else {"x1": 1, "x2": 27, "y1": 10, "y2": 10}
    return el("svg", el("line", class_=kind, **ends), width=28, height=20, aria_hidden="true")


def _box(kind: str) -> Markup:
    shape = el("rect", x=2, y=4, width=24, height=12, class_=kind)
    return el("svg", shape, width=28, height=20, aria_hidden="true")
