"""Columns of text, laid out by width on the screen. Lines are never folded or cut, so a pipe gets them whole."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text


@dataclass(frozen=True)
class Column:
    """A heading and the side its cells keep to."""

    name: str
    right: bool = False


Cell = str | Text
Row = Sequence[Cell] | Text  # a Text alone is a line across all columns


def aligned(columns: Sequence[Column], rows: Sequence[Row], *, gap: int = 2, indent: int = 0) -> list[Text]:
    """The heading and one line per row, every column as wide as its widest cell."""
    table = [[_text(cell) for cell in row] for row in rows if not isinstance(row, Text)]
    heads = [Text(column.name, style="dim") for column in columns]
    widths = [max(cell_len(row[i].plain) for row in [heads, *table]) for i in range(len(columns))]

    def line(cells: Sequence[Text]) -> Text:
        out = Text(" " * indent)
        for i, (cell, column, width) in enumerate(zip(cells, columns, widths, strict=True)):
            blank = Text(" " * (width - cell_len(cell.plain)))
            out += Text(" " * gap if i else "")
            out += blank + cell if column.right else cell + blank
        out.rstrip()
        return out

    lines = [line(heads)]
    lines += [row if isinstance(row, Text) else line([_text(cell) for cell in row]) for row in rows]
    return lines


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(cell)


def printed(lines: Sequence[Cell], *, color: bool) -> str:
    """The lines as text, with ANSI colours or without."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=80,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        legacy_windows=False,
    )
    for line in lines:
        console.print(_text(line), soft_wrap=True)
    return out.getvalue()
