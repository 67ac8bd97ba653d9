"""The formats of a report, the endings that stand for them, and text or rows into a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falsify_adapters.errors import OptionError

WIDTH = 100


@dataclass(frozen=True, slots=True)
class Format:
    """A format of reports. target: "module:function", the function from a report to text; ending: of a file of it;
    lacks: the kinds of report that it has no form for."""

    name: str
    ending: str
    target: str
    summary: str
    lacks: tuple[str, ...] = ()


_HERE = "falsify_adapters.report"
FORMATS = (
    Format("table", ".txt", f"{_HERE}.saving:to_table", "text for people, as on the terminal"),
    Format("json", ".json", f"{_HERE}.plain:to_json", "everything, numbers unrounded"),
    Format("jsonl", ".jsonl", f"{_HERE}.delimited:to_jsonl", "JSON Lines, one result a line"),
    Format("csv", ".csv", f"{_HERE}.delimited:to_csv", "one result a line, for spreadsheets"),
    Format("markdown", ".md", f"{_HERE}.markup_tables:to_markdown", "a table for GitHub and the like", ("audit",)),
    Format("latex", ".tex", f"{_HERE}.markup_tables:to_latex", "a table for LaTeX with booktabs", ("audit",)),
    Format("html", ".html", f"{_HERE}.html:to_html", "one page with pictures, for a browser", ("power",)),
    Format(
        "trec_eval", ".eval", f"{_HERE}.trec_eval:to_trec_eval", "trec_eval's lines, and the gate's after them",
        ("floor", "power", "audit"),
    ),
    Format("junit", ".xml", f"{_HERE}.junit:to_junit", "JUnit XML, for CI", ("power", "audit")),
)  # fmt: skip
ENDINGS = {known.ending: known.name for known in FORMATS}


def formats_of(kind: str) -> tuple[str, ...]:
    """The names of the built-in formats that have a form for a kind of report: gate, floor, compare, power, audit."""
    return tuple(known.name for known in FORMATS if kind not in known.lacks)


def fitting(kind: str, names: Sequence[str]) -> list[str]:
    """Those of the named formats that have a form for a kind of report; a plugin's is taken to have one for any."""
    ours, fit = {known.name for known in FORMATS}, formats_of(kind)
    return [*(name for name in fit if name in names), *(name for name in names if name not in ours)]


def format_of(path: str | Path, known: Sequence[str], *, where: str | None = None, mend: str | None = None) -> str:
    """The name of the format that the ending of a file stands for, among those known. A plugin's format is the ending
    of its files. Raises OptionError."""
    ending = Path(path).suffix.lower()
    name = ENDINGS.get(ending, ending.removeprefix("."))
    if name in known:
        return name
    ours = [of for of, name in ENDINGS.items() if name in known]
    said = f"the ending {ending!r} stands for no format" if ending else "the file name has no ending to tell the format"
    legal = ", ".join([*ours, *(f".{name}" for name in known if name not in ENDINGS.values())])
    raise OptionError(said, where=where or str(path), legal=legal, mend=mend)


def to_table(report: Mapping[str, Any]) -> str:
    """The report as text for a file."""
    from falsify_adapters.report.render import render

    return render(report, width=WIDTH, color=False, ascii_only=False)


def save_rows(rows: Sequence[Mapping[str, Any]], path: str | Path) -> None:
    """Write rows with the same keys: .csv, .jsonl or .parquet. Raises OptionError."""
    from falsify_adapters.report.delimited import csv_of, jsonl_of

    path = Path(path)
    ending = path.suffix.lower()
    if ending == ".parquet":
        import polars as pl

        try:
            pl.DataFrame(list(rows), infer_schema_length=None).write_parquet(path)
        except OSError as error:
            raise _unwritten(path, error) from None
        return
    if ending not in (".csv", ".jsonl"):
        raise OptionError(f"rows have no ending {ending!r}", where=str(path), legal=".csv, .jsonl or .parquet")
    write(path, csv_of(rows) if ending == ".csv" else jsonl_of(rows))


def write(path: Path, text: str) -> None:
    """Write text to a file. Raises OptionError."""
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> OptionError:
    return OptionError(f"cannot be written: {error.strerror or error}", where=str(path))
