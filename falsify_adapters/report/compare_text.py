"""Runs side by side as text: letters, superscripts, and a column of the gate. It is handed the report as a dict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from falsify_adapters.report.page import STYLES, Notes, Page, list_notes
from falsify_adapters.report.safe import count, number
from falsify_adapters.report.tables import Cell, Column, aligned

SUPERSCRIPTS = dict(zip(ascii_lowercase, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖᑫʳˢᵗᵘᵛʷˣʸᶻ", strict=True))
RAISED = {**SUPERSCRIPTS, "-": "⁻"}
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
    """The table, in as many pieces as the width takes; each begins with letter and run, and a measure's gate stays
    with it."""
    heads, lines = columns(report, page)
    size = 2 if report["settings"]["gate_column"] == "each" else 1
    groups = [range(at, min(at + size, len(heads))) for at in range(2, len(heads), size)]

    def piece(chosen: Sequence[int]) -> list[Text]:
        columns = [0, 1, *chosen]
        return aligned([heads[i] for i in columns], [[line[i] for i in columns] for line in lines])

    out: list[list[int]] = [[]]
    for group in groups:
        if out[-1] and max(cell_len(line.plain) for line in piece([*out[-1], *group])) > page.width:
            out.append([])
        out[-1] += group
    return [piece(chosen) for chosen in out]


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


def gates(report: Mapping[str, Any], run: str) -> list[tuple[str, str]]:
    """What `gate_word` says of a run: of every measure, or of all together, as the column was asked for."""
    rows = rows_of(report)[run]
    each = report["settings"]["gate_column"] == "each"
    return [gate_word([row]) for row in rows.values()] if each else [gate_word(list(rows.values()))]


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
    """The letters of `better_than` raised, ^abc in ASCII."""
    joined = joined_letters(report, better_than(report, run, measure))
    if ascii_only:
        return f"^{joined}" if joined else ""
    return "".join(RAISED.get(char, char) for char in joined)


def joined_letters(report: Mapping[str, Any], beaten: Sequence[str]) -> str:
    """abc as in ranx; with more runs than letters a-c,z,ab: neighbours from the third on are a range."""
    order = {entry["letter"]: at for at, entry in enumerate(report["runs"])}
    if len(order) <= len(ascii_lowercase):
        return "".join(beaten)
    ranges: list[list[str]] = []
    for letter in beaten:
        if ranges and order[letter] == order[ranges[-1][-1]] + 1:
            ranges[-1].append(letter)
        else:
            ranges.append([letter])
    return ",".join(f"{r[0]}-{r[-1]}" if len(r) > 2 else ",".join(r) for r in ranges)


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
    """What superscripts and the gate's column mean, and whether any superscript was possible."""
    settings, most, least = report["settings"], report["settings"]["max_p"], report["least_p"]
    holm = settings["correction"] == "holm"
    corrected = f"Holm over {count(report['family'], 'comparison')}" if holm else "uncorrected"
    out = []
    if len(report["runs"]) > 1:
        out.append(
            f"Superscripts: significantly better at p <= {most:g} ({TEST_NAMES[settings['stat_test']]}, {corrected})."
        )
    if least > most:
        draws = settings["n_permutations"]
        queries = count(report["gate"]["results"][0]["queries"]["judged"], "query")
        after = ", and Holm's correction," if holm else ""
        out.append(
            f"No difference could be significant: with {queries} and up to {draws} permutations{after} p is never "
            f"below {least:.3g}."
        )
    return [*out, f"Gate: PASS, or the null that decides and the gap to it (tau {settings['tau']:g})."]
