"""Rows as CSV and JSON Lines. Text from files cannot become a formula in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from falsify_adapters.report.rows import rows

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full-width
SUMMARIES = ("findings", "tasks", "models")  # of an audit: as long as many rows


def to_csv(report: Mapping[str, Any]) -> str:
    """One line per result, numbers unrounded, under a header; empty where there is no value."""
    return csv_of(rows(report))


def to_jsonl(report: Mapping[str, Any]) -> str:
    """One JSON object per result, each with the settings and the qrels of the report, but without its summaries."""
    if "results" not in report:  # a comparison: the rows, and the tests between them
        lines = [*rows(report), *report["comparisons"]]
        return "".join(json.dumps({"schema": report["schema"], **line}, allow_nan=False) + "\n" for line in lines)
    shared = {key: value for key, value in report.items() if key not in ("results", *SUMMARIES)}
    return "".join(json.dumps(shared | result, allow_nan=False) + "\n" for result in report["results"])


def csv_of(lines: Sequence[Mapping[str, Any]]) -> str:
    """Rows with the same keys as CSV (RFC 4180, but lines end in a newline alone)."""
    heads = [list(lines[0])] if lines else []
    return "".join(_line([_cell(value) for value in line]) for line in [*heads, *(row.values() for row in lines)])


def _line(cells: Sequence[str]) -> str:
    out = io.StringIO()
    csv.writer(out).writerow(cells)  # ended by both, so that a cell with either of them is quoted
    return out.getvalue().removesuffix("\r\n") + "\n"


def jsonl_of(lines: Sequence[Mapping[str, Any]]) -> str:
    """Rows as JSON Lines."""
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    # A spreadsheet runs a cell that begins like a formula; a leading apostrophe makes it text (OWASP, CSV injection).
    return f"'{text}" if text.startswith(FORMULA) else text
