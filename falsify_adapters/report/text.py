"""The gate's report as text for a terminal or a pipe. It is handed the report as a dict and nothing else.

First the verdict of the whole call, then one line per run and measure, then the nulls of each row in full, what to
do next, and the flags, each once. Tables are never folded or cut, whatever the width: only sentences are wrapped.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from falsify_adapters.report.advice import NULLS, next_steps, toothless
from falsify_adapters.report.page import LOUD, STYLES, Notes, Page, list_notes, point_at_notes, shown
from falsify_adapters.report.safe import count, interval, number, p_value
from falsify_adapters.report.tables import Cell, Column, Row, aligned

NAMES = {"A": "permuted gold", "B": "uniform gold", "C": "random retrieval", "D": "matched gold"}
MARKS = {"pass": " ", "fail": "✗", "under-ns": "?", "toothless": "·"}
QUERIES = {
    "missing": "not in the run (scored 0)",
    "without_gold": "without gold (scored 0)",
    "ignored": "only in the run (ignored)",
}
CUTOFF = re.compile(r"@[0-9]+(?=$|\()")
DETAILS_UP_TO = 4  # rows; with more of them only those that did not pass are shown in full


def render_gate(report: Mapping[str, Any], *, width: int, color: bool, ascii_only: bool, details: str = "auto") -> str:
    """The report (schema falsify-adapters.gate/1) as text, ending in a newline.

    width: columns that sentences are wrapped at; color: ANSI colours; ascii_only: nothing outside ASCII;
    details: "auto" (every row while there are few, else those that did not pass), "all" or "none".
    """
    page = Page(width, color, ascii_only)
    results = report["results"]
    notes = Notes.of(results)
    _head(page, report)
    if len(results) > 1:
        page.blank()
        page.lines(summary_lines(results, report["settings"], width=page.width, ascii_only=ascii_only))
    if details == "auto":
        details = "all" if len(results) <= DETAILS_UP_TO else "some"
    for result in results:
        if details == "all" or (details == "some" and result["verdict"] != "PASS"):
            _block(page, result, report["settings"], notes)
    if notes.messages:
        list_notes(page, notes, results)
    if len(results) > 1:
        page.blank()
        page.line(_verdict_line(results))
    return page.text()


def _head(page: Page, report: Mapping[str, Any]) -> None:
    settings, qrels = report["settings"], report["qrels"]
    verdicts = [result["verdict"] for result in report["results"]]
    overall = next((v for v in ("FAIL", "UNDER-NS") if v in verdicts), "PASS")
    page.line("Four-null gate: ", Text(overall, style=STYLES[overall]))
    page.line(
        f"qrels   {page.safe(qrels['path'])}: {count(qrels['queries'], 'query')}, "
        f"{count(qrels['judgments'], 'judgment')}, {qrels['gold']} of them gold"
    )
    page.line(
        f"scored  by {page.safe(settings['backend'])}; tau {settings['tau']:g}, alpha {settings['alpha']:g}, "
        f"{settings['n_boot']} draws, seed {settings['seed']}"
    )
    for result in report["results"]:
        for flag in result["flags"]:
            if flag["code"] in LOUD:
                heading = f"{shown(flag['code'])}: {page.safe(result['run'])}, {page.safe(result['measure'])}"
                page.line(heading, style=STYLES["FAIL"])


def summary_lines(
    results: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    *,
    width: int,
    ascii_only: bool = False,
    numbers: bool = True,
) -> list[Text]:
    """One line per run and measure, and what the marks mean; `numbers` of notes, where these are listed below.

    Where that is too wide, a run's name gets a line of its own above its measures.
    """
    page, notes = Page(width, False, ascii_only), Notes.of(results if numbers else ())
    flat = _summary_table(page, results, settings, notes, grouped=False)
    wide = max(cell_len(line.plain) for line in flat) > page.width
    table = _summary_table(page, results, settings, notes, grouped=True) if wide else flat
    return [*table, *_legend(page, results, settings)]


def _summary_table(
    page: Page,
    results: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    notes: Notes,
    *,
    grouped: bool,
) -> list[Text]:
    distinct = {result["measure"] for result in results}
    alone = page.safe(next(iter(distinct))) if len(distinct) == 1 else None  # then it heads the column of scores
    columns = [Column("run")] if not grouped else []
    columns += [Column("  measure" if grouped else "measure")] if grouped or not alone else []
    columns += [Column(name, right=True) for name in ("score" if grouped else alone or "score", "floor", "ceil")]
    columns += [Column(f"{null}  ", right=True) for null in NULLS]
    columns += [Column("gate"), Column("notes" if notes.messages else "")]
    rows: list[Row] = []
    last = None
    for result in results:
        run = (result["run"], result["path"])
        name, measure = page.safe(result["run"]), page.safe(result["measure"])
        if grouped and run != last:
            rows.append(Text(name))
        cells: list[Cell] = [] if grouped else [name if run != last or alone else ""]
        cells += [("  " if grouped else "") + measure] if grouped or not alone else []
        cells += [number(result[part], 3) for part in ("score", "floor", "ceiling")]
        cells += [_gap(page, result, settings, null) for null in NULLS]
        cells.append(Text(result["verdict"], style=STYLES[result["verdict"]]))
        cells.append(" ".join(str(n) for n in notes.of_row(result)))
        rows.append(cells)
        last = run
    return aligned(columns, rows, gap=1)


def _gap(page: Page, result: Mapping[str, Any], settings: Mapping[str, Any], name: str) -> Text:
    null = result["nulls"].get(name)
    if null is None:
        return Text("-  ")
    verdict = shown_verdict(result, settings, name)
    return Text(f"{number(null['delta'], 3)} {page.sign(MARKS[verdict])}", style=_style(verdict))


def shown_verdict(result: Mapping[str, Any], settings: Mapping[str, Any], name: str) -> str:
    verdict: str = result["nulls"][name]["verdict"]
    return "toothless" if name in toothless(result, settings) else verdict


def _style(verdict: str) -> str:
    return STYLES[verdict.upper()].removeprefix("bold ") if verdict in ("fail", "under-ns") else ""


def _legend(page: Page, results: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> list[Text]:
    text = "A to D: gap between the score and each null"
    seen = {shown_verdict(result, settings, name) for result in results for name in result["nulls"]}
    for verdict, words in (("fail", "fails"), ("under-ns", "too few queries"), ("toothless", "says nothing here")):
        text += f"; {MARKS[verdict]} {words}" if verdict in seen else ""
    return [Text(line, style="dim") for line in textwrap.wrap(page.sign(text), page.width)]


def _block(page: Page, result: Mapping[str, Any], settings: Mapping[str, Any], notes: Notes) -> None:
    """Everything about one run and measure."""
    page.blank()
    title = Text(f"{page.safe(result['run'])}, {page.safe(result['measure'])}: ", style="bold")
    page.line(title, Text(result["verdict"], style=STYLES[result["verdict"]]))
    for text in _facts(page, result):
        page.prose(text, 2)
    page.lines(_null_table(page, result, settings))
    for text in _extras(page, result, settings):
        page.prose(text, 2)
    for text in next_steps(result, settings):
        page.prose(text, 5, "  ->")
    point_at_notes(page, notes, result)


def _facts(page: Page, result: Mapping[str, Any]) -> list[str]:
    queries, pool = result["queries"], result["pool"]
    size = str(pool["n"]) if pool["n"] is not None else f"{pool['n_min']} to {pool['n_max']}"
    place = f"pool {size} documents{'' if pool['n'] is not None else ' a query'} ({page.safe(pool['source'])})"
    judged = result["judged_at_k"]
    where = [place, count(queries["judged"], "query")]
    where += (
        [f"judged{''.join(CUTOFF.findall(result['measure'])[-1:])} {number(judged, 3)}"] if judged is not None else []
    )
    told = {flag["code"] for flag in result["flags"]}
    odd = [
        f"{queries[part]} {words}" for part, words in QUERIES.items() if queries[part] and f"queries_{part}" not in told
    ]
    return [
        f"score {number(result['score'])}   floor {number(result['floor'])}{_error(page, result['floor_se'])}   "
        f"ceiling {number(result['ceiling'])}   chance-corrected {number(result['chance_corrected'])}",
        "   ".join(where),
        *([f"queries: {', '.join(odd)}"] if odd else []),
    ]


def _error(page: Page, se: float | None) -> str:
    if not se:
        return ""
    return page.sign(f" ± {number(se) if se >= 0.00005 else f'{se:.0e}'}")


def _null_table(page: Page, result: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Text]:
    given = result["nulls"]
    nulls = {key: given[key] for key in [*NULLS, *sorted(set(given) - set(NULLS))] if key in given}
    reach = any(_blunt(result, null) for null in nulls.values())
    columns = [Column("null"), Column("expected", right=True), Column("gap", right=True)]
    columns += [Column("95 % interval", right=True), Column("p", right=True)]
    columns += [Column("reach", right=True)] if reach else []
    columns.append(Column("verdict"))
    rows: list[Row] = []
    for key, null in nulls.items():
        row: list[Cell] = [
            f"{key} {NAMES[key]}" if key in NAMES else page.safe(key),
            number(null["mean"]) + _error(page, null["se"]),
            number(null["delta"]),
            interval(null["ci95"], 3),
            p_value(null["p"]),
        ]
        row += [number(null["reach"], 3)] if reach else []
        verdict = shown_verdict(result, settings, key)
        row.append(Text(verdict, style=_style(verdict)))
        rows.append(row)
    for gap, indent in ((2, 2), (1, 2), (1, 0)):  # as airy as the width allows
        lines = aligned(columns, rows, indent=indent, gap=gap)
        if max(cell_len(line.plain) for line in lines) <= page.width:
            break
    return lines


def _blunt(result: Mapping[str, Any], null: Mapping[str, Any]) -> bool:
    """Whether the best score that any order could get under the null lies visibly under the ceiling."""
    reach, ceiling = null["reach"], result["ceiling"]
    return reach is not None and ceiling is not None and reach < ceiling - 0.0005


def _extras(page: Page, result: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    texts = []
    popularity = result["popularity"]
    if popularity is not None:
        texts.append(
            f"For reference, the popularity ranker scores {number(popularity['score'])} "
            f"(gap {number(popularity['delta'])})."
        )
    paired = result["paired"]
    if paired is not None:
        texts.append(f"Paired measure {page.safe(paired['measure'])}: {number(paired['score'])}, {paired['verdict']}.")
    span = result["tie_span"]
    if result["tied_queries"] and span is not None and number(span[0]) != number(span[1]):
        texts.append(
            f"Ties: {count(result['tied_queries'], 'query')} with equal scores inside the cutoff; other orders of the "
            f"tied documents give {interval(span)}."
        )
    if result["score_source"] == "kernel":
        texts.append(
            f"Score from the built-in kernel, equal to {page.safe(settings['backend'])} on "
            f"{count(result['verified_queries'], 'query')} checked."
        )
    return texts


def _verdict_line(results: Sequence[Mapping[str, Any]]) -> Text:
    line = Text(f"{len(results)} rows: ")
    for i, verdict in enumerate(STYLES):
        n = sum(result["verdict"] == verdict for result in results)
        line += Text.assemble(", " if i else "", Text(f"{n} {verdict}", style=STYLES[verdict] if n else ""))
    return line
