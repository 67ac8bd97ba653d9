"""What a benchmark can certify, as text. It is handed the report as a dict and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from falsify_adapters.report.page import Notes, Page, list_notes
from falsify_adapters.report.safe import count, number, short
from falsify_adapters.report.tables import Column, Row, aligned


def render_power(report: Mapping[str, Any], *, width: int, color: bool, ascii_only: bool) -> str:
    """The report (schema falsify-adapters.power/1) as text, ending in a newline; arguments as for `render_floor`."""
    page = Page(width, color, ascii_only)
    rows, settings, qrels = report["results"], report["settings"], report["qrels"]
    notes = Notes.of(rows)
    page.line(Text(f"Power: what {count(qrels['queries'], 'query')} can certify", style="bold"))
    page.line(f"qrels   {page.safe(qrels['path'])}: {count(qrels['judgments'], 'judgment')}, {qrels['gold']} gold")
    page.line(f"gate    tau {settings['tau']:g}, alpha {settings['alpha']:g}")
    page.blank()
    page.lines(_gaps(page, rows))
    page.blank()
    page.prose(
        f"A system passes with a score of at least `least score`. A true gap over random retrieval of `gap` passes in "
        f"{settings['chance']:.0%} of all tries, one of `coin toss` in half of them; random retrieval itself passes "
        "with the chance `false pass`.",
        0,
    )
    asked = [entry["gap"] for entry in rows[0]["queries_needed"]] if rows else []
    if asked:
        page.blank()
        page.line(f"Queries that a gap takes to pass in {settings['chance']:.0%} of all tries:")
        columns = [Column("measure"), *(Column(f"{gap:g}", right=True) for gap in asked)]
        lines: list[Row] = [
            [page.safe(row["measure"]), *(_queries(entry["queries"]) for entry in row["queries_needed"])]
            for row in rows
        ]
        page.lines(aligned(columns, lines))
        page.blank()
    page.prose(
        "For the hardest system to tell from chance, whose queries score 0 or the ceiling and nothing between; one of "
        "even scores needs fewer queries. A gap of tau is a coin toss on any benchmark. The label nulls depend on the "
        "run and are not in this.",
        0,
    )
    if notes.messages:
        list_notes(page, notes, rows)
    return page.text()


def _gaps(page: Page, rows: list[Mapping[str, Any]]) -> list[Text]:
    names = ("floor", "ceiling", "least score", "gap", "coin toss", "false pass")
    columns = [Column("measure"), *(Column(name, right=True) for name in names)]
    lines: list[Row] = []
    for row in rows:
        numbers = [_or_none(row[key]) for key in ("least_score", "gap", "coin_toss")]
        lines.append(
            [
                page.safe(row["measure"]),
                short(row["floor"]),
                number(row["ceiling"]),
                *numbers,
                f"{row['false_pass']:.2%}",
            ]
        )
    return aligned(columns, lines)


def _or_none(value: float | None) -> str:
    return "none" if value is None else number(value)


def _queries(n: int | None) -> str:
    return "none" if n is None else str(n)
