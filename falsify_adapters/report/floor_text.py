"""The report on noise floors as text for a terminal or a pipe. It is handed the report as a dict and nothing else.

First the verdict of all checks, then, with several measures, one line for each; then per measure the floor, each
check with what it found, what it could have found and what to do next; at the end the flags, each once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from falsify_adapters.report.floor_advice import after_check1, after_check2, after_overlap, overall, power_of
from falsify_adapters.report.page import STYLES, Notes, Page, list_notes, point_at_notes
from falsify_adapters.report.safe import count, interval, listed, number, p_value, short
from falsify_adapters.report.tables import Cell, Column, Row, aligned

CHECKS = {
    "check1": "Check 1, is the noise where probability puts it?",
    "check2": "Check 2, is there room above the floor?",
    "noise_overlap": "Is the noise noise?",
    "harness": "Does the harness agree with the floor?",
}


VISIBLE = 0.01  # of the floor: what a typed number leaves open is said from here on


def render_floor(report: Mapping[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """The report (schema falsify-adapters.floor/1) as text, ending in a newline.

    width: columns that sentences are wrapped at; color: ANSI colours; ascii_only: nothing outside ASCII.
    """
    page = Page(width, color, ascii_only)
    results, settings = report["results"], report["settings"]
    notes = Notes.of(results)
    _head(page, report)
    if len(results) > 1:
        page.blank()
        page.lines(_summary(page, results, notes))
    for row in results:
        _block(page, row, settings, notes)
    if notes.messages:
        list_notes(page, notes, results)
    return page.text()


def _colored(verdict: str) -> Text:
    return Text(verdict, style=STYLES["PASS" if verdict.lower() == "pass" else "FAIL"])


def _head(page: Page, report: Mapping[str, Any]) -> None:
    settings, qrels = report["settings"], report["qrels"]
    whole = overall(report["results"])
    page.line("Noise floor: ", _colored(whole) if whole else Text("no check asked for"))
    page.line(
        f"qrels   {page.safe(qrels['path'])}: {count(qrels['queries'], 'query')}, "
        f"{count(qrels['judgments'], 'judgment')}, {qrels['gold']} of them gold"
    )
    if whole:
        page.line(
            f"checks  level {settings['check_alpha']:g}; signal at least {settings['min_signal']:g}, headroom at least "
            f"{settings['min_headroom']:g}"
        )


def _summary(page: Page, rows: Sequence[Mapping[str, Any]], notes: Notes) -> list[Text]:
    """One line per measure."""
    made = [name for name in CHECKS if any(row.get(name) is not None for row in rows)]
    heads = {"check1": "check 1", "check2": "check 2", "noise_overlap": "overlap", "harness": "harness"}
    columns = [Column("measure"), *(Column(name, right=True) for name in ("floor", "sd", "ceiling", "headroom"))]
    columns += [*(Column(heads[name]) for name in made), Column("notes" if notes.messages else "")]
    lines: list[Row] = []
    for row in rows:
        numbers = [short(row["expected"]), f"{row['sd']:#.3g}", number(row["ceiling"]), number(row["headroom"])]
        verdicts: list[Cell] = [_colored(row[name]["verdict"]) if row.get(name) is not None else "-" for name in made]
        lines.append([page.safe(row["measure"]), *numbers, *verdicts, " ".join(map(str, notes.of_row(row)))])
    airy = aligned(columns, lines)
    return airy if max(cell_len(line.plain) for line in airy) <= page.width else aligned(columns, lines, gap=1)


def one_line_each(heading: str, rows: Mapping[str, Mapping[str, Any]]) -> list[Text]:
    """Rows with both checks, by a name of their own, one line each; heading: of the names."""
    columns = [Column(heading)]
    columns += [Column(name, right=True) for name in ("floor", "noise")]
    columns += [Column("check 1"), *(Column(name, right=True) for name in ("score", "signal", "headroom"))]
    columns.append(Column("check 2"))
    lines: list[Row] = []
    for name, row in rows.items():
        one, two = row["check1"], row["check2"]
        cells: list[Cell] = [name, number(row["expected"], 3), number(one["measured"], 3), _colored(one["verdict"])]
        cells += [number(two["score"], 3), number(two["signal"], 2), number(two["headroom"], 3)]
        lines.append([*cells, _colored(two["verdict"])])
    return aligned(columns, lines)


def _block(page: Page, row: Mapping[str, Any], settings: Mapping[str, Any], notes: Notes) -> None:
    """Everything about one measure."""
    page.blank()
    whole = overall([row])
    title = Text(page.safe(row["measure"]) + (": " if whole else ""), style="bold")
    page.line(title, _colored(whole) if whole else "")
    for text in _facts(page, row):
        page.prose(text, 2)
    for name, (found, steps) in checks(row, settings).items():
        page.line(f"  {CHECKS[name]} ", _colored(row[name]["verdict"]))
        for text in found:
            page.prose(page.safe(text), 4)
        for text in steps:
            page.prose(page.safe(text), 7, "    ->")
    point_at_notes(page, notes, row)


def checks(row: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, tuple[Iterator[str], list[str]]]:
    """For every check that was made, what it found and what to do next."""
    made: dict[str, tuple[Iterator[str], list[str]]] = {}
    if row["check1"] is not None:
        made["check1"] = (_check1(row, settings), after_check1(row))
    if row["check2"] is not None:
        made["check2"] = (_check2(row, settings), after_check2(row, settings))
    if row["noise_overlap"] is not None:
        made["noise_overlap"] = (_overlap(row), after_overlap(row))
    if row.get("harness") is not None:
        made["harness"] = (_harness(row), row["harness"]["why"])
    return made


def _facts(page: Page, row: Mapping[str, Any]) -> Iterator[str]:
    pool, gold = row["pool"], row["gold"]
    simulated = f" (simulated, +- {row['expected_se']:.2g})" if row["method"] == "simulated" else ""
    yield (
        f"floor {short(row['expected'])}{simulated}   sd of a noise run {row['sd']:#.3g}   "
        f"ceiling {number(row['ceiling'])}   headroom {number(row['headroom'])}"
    )
    size = str(pool["n"]) if pool["n"] is not None else f"{pool['n_min']} to {pool['n_max']}"
    where = [f"pool {size} documents{'' if pool['n'] is not None else ' a query'} ({page.safe(pool['source'])})"]
    where += [f"{row['depth']} retrieved"] if row["depth"] is not None else []
    low, high = short(row["per_query"]["min"]), short(row["per_query"]["max"])
    where += [f"by query {low} to {high}"] if low != high else []
    yield "   ".join(where)
    if row["uniform"] is not None:
        yield (
            f"The floor of {count(pool['n_chunks'], 'chunk')} in random order, each document at its best one. "
            f"Documents drawn evenly would score {short(row['uniform'])}."
        )
    lost = gold["total"] - gold["in_pool"]
    odd = [f"{lost} of {gold['total']} gold documents are not in the pool"] if lost else []
    odd += [f"{count(gold['queries_without'], 'query')} without gold (scored 0)"] if gold["queries_without"] else []
    if odd:
        yield "; ".join(odd)


def _check1(row: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    check, level = row["check1"], f"{100 * (1 - settings['check_alpha']):g} %"
    runs = check["per_run"] or ()
    spread = f", {short(min(runs))} to {short(max(runs))}" if len(runs) > 1 else ""
    source = f"{count(check['seeds'], 'noise run')}{spread}" if runs else f"over {count(check['seeds'], 'seed')}"
    around = "" if check["ci"] is None else f" ({level} interval {interval(check['ci'], 2)})"
    typed = f" +- {short(check['rounding'])} as typed" if check["rounding"] > VISIBLE * row["expected"] else ""
    measured = (
        f"{short(check['measured'])}{typed} ({source})" if runs else f"{short(check['measured'])}{typed} {source}"
    )
    yield f"measured {measured}, {number(check['ratio'], 2)} times the floor{around}, p {p_value(check['p'])}"
    if told := "; ".join(part for part in implied(row, level) if part):
        yield told
    yield power_of(check)


def implied(row: Mapping[str, Any], level: str) -> tuple[str, str]:
    """Which N the measured noise implies, and which candidates fit it; level: of the interval, as text."""
    return _implied(row, level), _candidates(row["check1"]["candidates"])


def _implied(row: Mapping[str, Any], level: str) -> str:
    check = row["check1"]
    n, around = check["implied_n"], check["implied_n_ci"]
    ends = "" if around is None else f"{around[0]} to {around[1]}" if around[1] is not None else f"{around[0]} and up"
    if n is not None:
        evenly = "" if row["uniform"] is None else " documents drawn evenly"
        return f"implies N = {n:.0f}{evenly}" + (f" ({level} interval {ends})" if ends else "")
    if ends:
        return f"implies N of {ends}"
    return "no single N is implied: each query has its own pool" if row["pool"]["n"] is None else ""


def _candidates(candidates: Sequence[Mapping[str, Any]]) -> str:
    """As in "files = 218 fits, chunks = 1052 does not"."""
    parts = []
    for wanted, one, several in ((True, "fits", "fit"), (False, "does not", "do not")):
        some = [f"{c['unit']} = {c['n']}" for c in candidates if c["fits"] is wanted]
        if some:
            parts.append(f"{listed(some)} {one if len(some) == 1 else several}")
    return ", ".join(parts) + (" fit" if candidates and not any(c["fits"] for c in candidates) else "")


def _check2(row: Mapping[str, Any], settings: Mapping[str, Any]) -> Iterator[str]:
    check = row["check2"]
    if check["assumed"]:
        yield f"no score was given; the best possible one, {number(check['score'])}, stands in for it"
    given = "" if check["assumed"] else f"score {number(check['score'])}, "
    carried = row["check1"] is not None and check["noise"] != row["check1"]["measured"]
    over = "floor" if row["check1"] is None else "noise at its depth" if carried else "measured noise"
    signal = f"{number(check['signal'], 2)} times the {over}" if check["signal"] is not None else f"above a {over} of 0"
    least = f" (at least {settings['min_signal']:g})"
    both = row["check1"] is not None and check["signal_over_floor"] is not None
    floor = f" and {number(check['signal_over_floor'], 2)} times the floor" if both else ""
    yield (
        f"{given}{signal}{least}{floor}; headroom {number(check['headroom'])} (at least "
        f"{settings['min_headroom']:g}); chance-corrected {number(check['chance_corrected'])}"
    )


def _overlap(row: Mapping[str, Any]) -> Iterator[str]:
    check = row["noise_overlap"]
    names = " and ".join(check["between"])
    most = f", the most of {check['pairs']} pairs" if check["pairs"] > 1 else ""
    yield (
        f"{names} have {percent(check['observed'])} in common at the top{most}; chance gives "
        f"{percent(check['expected'])}, p {p_value(check['p'])}"
    )


def _harness(row: Mapping[str, Any]) -> Iterator[str]:
    check = row["harness"]
    yield (
        f"{count(check['runs'], 'simulated run')} of {check['depth']} {check['ids']} a query, through "
        f"{check['backend']}: {short(check['score'])} where the floor of such runs is {short(check['expected'])} "
        f"(sd {check['sd']:#.2g}), p {p_value(check['p'])}"
    )


def percent(share: float) -> str:
    """As in "12.5 %"; two significant digits below 1 %."""
    return f"{100 * share:.1f} %" if share >= 0.01 or share == 0 else f"{100 * share:.2g} %"
