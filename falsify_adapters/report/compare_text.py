"""Runs side by side as text: letters, superscripts, and a column of the gate. It is handed the report as a dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from falsify_adapters.report.page import STYLES, Notes, Page, list_notes
from falsify_adapters.report.safe import count, number
from falsify_adapters.report.tables import Cell, Column, Row, aligned

SUPERSCRIPTS = dict(zip("abcdefghijklmnopqrstuvwxyz", "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖᑫʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
TEST_NAMES = {
    "student": "paired Student's t test", "fisher": "Fisher's randomization test", "tukey": "Tukey's HSD test",
}  # fmt: skip
WORST = ("FAIL", "UNDER-NS", "PASS")


def render_compare(report: Mapping[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """The report (schema falsify-adapters.compare/1) as text, ending in a newline; arguments as for `render_gate`."""
    page = Page(width, color, ascii_only)
    results, qrels = report["gate"]["results"], report["qrels"]
    verdict = next(word for word in WORST if word in {result["verdict"] for result in results})
    runs, measures = count(len(report["runs"]), "run"), count(len(report["measures"]), "measure")
    page.line(f"{runs}, {measures}; four-null gate: ", Text(verdict, style=STYLES[verdict]))
    page.line(f"qrels   {page.safe(qrels['path'])}: {count(qrels['queries'], 'query')}, {qrels['gold']} gold")
    for block in blocks(report, page):
        page.blank()
        page.lines(block)
    page.blank()
    for sentence in legend(report):
        page.prose(page.sign(sentence), 0)
    notes = Notes.of(results)
    if notes.messages:
        list_notes(page, notes, results)
    return page.text()


def blocks(report: Mapping[str, Any], page: Page) -> list[list[Text]]:
    """The table, in as many pieces as the width takes; each begins with letter and run."""
    heads, lines = columns(report, page)
    fixed, rest = heads[:2], heads[2:]
    out: list[list[int]] = []
    chosen: list[int] = []
    for at in range(len(rest)):
        trial = aligned([*fixed, *(rest[i] for i in [*chosen, at])], _pick(lines, [*chosen, at]))
        if chosen and max(cell_len(line.plain) for line in trial) > page.width:
            out.append(chosen)
            chosen = []
        chosen = [*chosen, at]
    out.append(chosen)
    return [aligned([*fixed, *(rest[i] for i in part)], _pick(lines, part)) for part in out]


def _pick(lines: Sequence[Sequence[Cell]], part: Sequence[int]) -> list[Row]:
    return [[*line[:2], *(line[2 + i] for i in part)] for line in lines]


def columns(report: Mapping[str, Any], page: Page) -> tuple[list[Column], list[list[Cell]]]:
    """Letter, run, then scores with superscripts, and the gate behind each measure or at the end."""
    each = report["settings"]["gate_column"] == "each"
    measures = report["measures"]
    heads = [Column("#"), Column("model")]
    for measure in measures:
        heads += [Column(page.safe(measure)), *([Column("gate")] if each else [])]
    heads += [] if each else [Column("gate")]
    by_run = rows_of(report)
    lines: list[list[Cell]] = []
    for run in report["runs"]:
        cells: list[Cell] = [run["letter"], page.safe(run["run"])]
        for measure in measures:
            cells.append(score(report, run["run"], measure) + superscript(report, run["run"], measure, page.ascii_only))
            cells += [_gate([by_run[run["run"]][measure]], page)] if each else []
        cells += [] if each else [_gate([by_run[run["run"]][measure] for measure in measures], page)]
        lines.append(cells)
    return heads, lines


def rows_of(report: Mapping[str, Any]) -> dict[str, dict[str, Mapping[str, Any]]]:
    """The gate's results by run and measure."""
    names, n = [run["run"] for run in report["runs"]], len(report["measures"])
    out: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in names}
    for at, result in enumerate(report["gate"]["results"]):
        out[names[at // n]][result["measure"]] = result
    return out


def score(report: Mapping[str, Any], run: str, measure: str) -> str:
    """The score as ranx rounds it."""
    value, settings = report["scores"][run][measure], report["settings"]
    digits = settings["rounding_digits"]
    return number(100 * value, digits - 2) if settings["show_percentages"] else number(value, digits)


def better_than(report: Mapping[str, Any], run: str, measure: str) -> list[str]:
    """The letters of the runs that this one beats significantly, ranx's rule: a higher mean and p <= max_p."""
    scores, letter = report["scores"], {entry["run"]: entry["letter"] for entry in report["runs"]}
    beaten = {
        other
        for row in report["comparisons"]
        if row["measure"] == measure and row["significant"] and run in (row["a"], row["b"])
        for other in (row["a"], row["b"])
        if other != run and scores[run][measure] > scores[other][measure]
    }
    return [letter[entry["run"]] for entry in report["runs"] if entry["run"] in beaten]


def superscript(report: Mapping[str, Any], run: str, measure: str, ascii_only: bool) -> str:
    """The letters of `better_than` raised; between commas where letters come in pairs, ^abc in ASCII."""
    beaten = better_than(report, run, measure)
    joined = ("," if len(report["runs"]) > len(SUPERSCRIPTS) else "").join(beaten)
    if ascii_only:
        return f"^{joined}" if joined else ""
    return "".join(SUPERSCRIPTS.get(char, char) for char in joined)


def gate_word(results: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The worst verdict, and why: as in ("FAIL", "D +0.031"), the measure in front where there are several."""
    worst = min(results, key=lambda r: (WORST.index(r["verdict"]), _narrowest(r)[1]))
    verdict = worst["verdict"]
    if verdict == "PASS":
        return verdict, ""
    name, delta = _narrowest(worst)
    measure = f"{worst['measure']} " if len(results) > 1 else ""
    return verdict, f"{measure}{name} {delta:+.3f}"


def _narrowest(result: Mapping[str, Any]) -> tuple[str, float]:
    """The null that decides: among those with the verdict's own, the one with the smallest gap."""
    nulls = result["nulls"]
    kind = result["verdict"].lower()
    deciding = [name for name in nulls if nulls[name]["verdict"] == kind] or list(nulls)
    name = min(deciding, key=lambda n: (nulls[n]["delta"], n))
    return name, nulls[name]["delta"]


def _gate(results: Sequence[Mapping[str, Any]], page: Page) -> Text:
    verdict, why = gate_word(results)
    return Text.assemble(Text(verdict, style=STYLES[verdict]), f" {page.safe(why)}" if why else "")


def legend(report: Mapping[str, Any]) -> list[str]:
    """What superscripts and the gate's column mean."""
    settings = report["settings"]
    corrected = (
        f"Holm over {count(report['family'], 'comparison')}" if settings["correction"] == "holm" else "uncorrected"
    )
    return [
        f"Superscripts: significantly better at p <= {settings['max_p']:g} ({TEST_NAMES[settings['stat_test']]}, "
        f"{corrected}).",
        f"Gate: PASS, or the null that decides and the gap to it (tau {settings['tau']:g}).",
    ]
