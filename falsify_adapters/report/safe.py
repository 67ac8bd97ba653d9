"""How values become text: the one place where numbers are rounded and strange characters are made visible."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

ASCII = {"✗": "x", "–": "-", "…": "...", "─": "-", "±": "+/-", "·": "-"}


def visible(text: object, *, ascii_only: bool = False) -> str:
    """The text with every control, direction-changing or undecodable character written as an escape.

    Ids and paths come from files of others: printed raw, an escape sequence in them could rewrite the terminal.
    """
    out = []
    for char in str(text):
        if char == " " or (char.isprintable() and unicodedata.category(char) != "Co"):
            out.append(char)
        else:
            out.append(char.encode("unicode_escape", "surrogatepass").decode("ascii"))
    joined = "".join(out)
    return to_ascii(joined) if ascii_only else joined


def to_ascii(text: str) -> str:
    """The text in plain ASCII: our own signs by their plain twins, everything else as an escape."""
    for char, plain in ASCII.items():
        text = text.replace(char, plain)
    return text.encode("ascii", "backslashreplace").decode("ascii")


def number(value: float | None, digits: int = 4) -> str:
    """A value with a fixed number of decimals, without a minus sign before a rounded zero; "-" for none."""
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def short(value: float | None) -> str:
    """Four decimals, or four significant digits where that says more, as small floors need: 0.003871, 2.1e-07."""
    if value is None or value == 0 or abs(value) >= 0.1:
        return number(value)
    return f"{value:#.4g}" if abs(value) >= 0.0001 else f"{value:.1e}"


def p_value(value: float | None) -> str:
    """Three decimals, or two significant digits where three decimals would print zero. A p-value is never 0."""
    if value is None:
        return "-"
    return f"{value:.3f}" if value >= 0.0005 else f"{value:.1e}"


def interval(ends: Sequence[float] | None, digits: int = 4) -> str:
    """Both ends, as in "0.8512 to 0.9104"; "none" where no interval is given."""
    return "none" if ends is None else f"{number(ends[0], digits)} to {number(ends[1], digits)}"


def count(n: int, noun: str) -> str:
    """A count with its noun, as in "1 query", "50 queries"."""
    if n == 1:
        return f"1 {noun}"
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun[-2] not in "aeiou" else noun + "s"
    return f"{n} {plural}"


def listed(items: Sequence[str], last: str = "and") -> str:
    """As in "A", "A and B", "A, B and C"."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"
