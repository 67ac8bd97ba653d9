"""What every report for a terminal is made of: lines and wrapped sentences, and flags as numbered notes.

Sentences are wrapped at the width; tables and other single lines are never folded or cut.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from falsify_adapters.report.safe import to_ascii, visible
from falsify_adapters.report.tables import printed

STYLES = {"PASS": "bold green", "FAIL": "bold red", "UNDER-NS": "bold yellow"}
LOUD = ("nothing_judged",)


class Page:
    """Collects lines. Sentences are wrapped here; nothing is folded or cut afterwards."""

    def __init__(self, width: int, color: bool, ascii_only: bool) -> None:
        self.width, self.ascii_only = max(width, 40), ascii_only
        self.color = color
        self._lines: list[Text] = []

    def line(self, *parts: str | Text, style: str = "") -> None:
        """One line, left whole however long it is."""
        self._lines.append(Text.assemble(*parts, style=style))

    def lines(self, lines: Sequence[Text]) -> None:
        self._lines += lines

    def prose(self, text: str, indent: int, first: str = "") -> None:
        """A wrapped paragraph, its first line led by `first`."""
        for i, line in enumerate(
            textwrap.wrap(text, max(self.width - indent, 30), break_long_words=False, break_on_hyphens=False)
        ):
            self.line((first if i == 0 else "").ljust(indent) + line)

    def blank(self) -> None:
        self._lines.append(Text(""))

    def safe(self, text: object) -> str:
        return visible(text, ascii_only=self.ascii_only)

    def sign(self, text: str) -> str:
        """Our own text, with the plain twins of its signs where only ASCII can be shown."""
        return to_ascii(text) if self.ascii_only else text

    def text(self) -> str:
        return printed(self._lines, color=self.color)


@dataclass(frozen=True)
class Notes:
    """The flags of a report by code, numbered from 1 in order of first appearance, with their distinct messages."""

    messages: dict[str, list[str]]

    @classmethod
    def of(cls, results: Sequence[Mapping[str, Any]]) -> Notes:
        messages: dict[str, list[str]] = {}
        for result in results:
            for flag in result["flags"]:
                known = messages.setdefault(flag["code"], [])
                if flag["message"] not in known:
                    known.append(flag["message"])
        return cls(messages)

    def number(self, code: str) -> int:
        return list(self.messages).index(code) + 1

    def of_row(self, result: Mapping[str, Any]) -> list[int]:
        return sorted({self.number(flag["code"]) for flag in result["flags"] if flag["code"] in self.messages})

    def own(self, result: Mapping[str, Any]) -> list[tuple[int, str]]:
        """The row's messages that other rows have in other words: the list at the end shows only one of them."""
        flags = result["flags"]
        return [(self.number(f["code"]), f["message"]) for f in flags if len(self.messages[f["code"]]) > 1]


def shown(code: str) -> str:
    """A flag's code as it is printed: in capitals where it is loud."""
    return code.replace("_", " ").upper() if code in LOUD else code


def point_at_notes(page: Page, notes: Notes, result: Mapping[str, Any]) -> None:
    """The row's own messages, and the numbers of those that it shares with the list at the end."""
    for n, message in notes.own(result):
        page.prose(page.safe(message), 6, f"{f'[{n}]':>5}")
    if shared := [n for n in notes.of_row(result) if n not in dict(notes.own(result))]:
        page.prose("notes " + " ".join(f"[{n}]" for n in shared), 2)


def list_notes(page: Page, notes: Notes, results: Sequence[Mapping[str, Any]]) -> None:
    """The flags of the report, each once, with the number that rows point at."""
    page.blank()
    page.line("Notes", style="bold")
    for code, messages in notes.messages.items():
        n = notes.number(code)
        rows = sum(n in notes.of_row(result) for result in results)
        share = f" ({rows} of {len(results)} rows)" if 1 < rows < len(results) else ""
        alike = f" And {len(messages) - 1} alike." if len(messages) > 1 else ""
        page.prose(f"{page.safe(shown(code))}{share}: {page.safe(messages[0])}{alike}", 6, f"{f'[{n}]':>5}")
