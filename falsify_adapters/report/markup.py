"""HTML and SVG by construction: whatever is not markup already is escaped when it is put in."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from falsify_adapters.report.safe import visible

VOID = {"meta"}

Child = object  # Markup, text, a number, None for nothing, or an iterable of these


class Markup(str):
    """Text that is HTML and needs no escaping."""

    __slots__ = ()


def el(tag: str, *children: Child, **attributes: object) -> Markup:
    """One element. Attributes: `class_` is class, other underscores are hyphens; None leaves one out, True is bare."""
    opened = [tag]
    for name, value in attributes.items():
        key = name.rstrip("_").replace("_", "-")
        if value is True:
            opened.append(key)
        elif value is not None and value is not False:
            opened.append(f'{key}="{_escaped(value)}"')
    head = f"<{' '.join(opened)}>"
    return Markup(head) if tag in VOID else Markup(f"{head}{join(children)}</{tag}>")


def join(children: Iterable[Child], between: str = "") -> Markup:
    """Children one after the other, text escaped."""
    return Markup(between.join(_inner(child) for child in children))


def _inner(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, Iterable) and not isinstance(child, str):
        return join(child)
    return _escaped(child)


def _escaped(value: object) -> str:
    return escape(visible(value))


def plain_ascii(markup: str) -> str:
    """The markup in ASCII, other characters as references: it reads the same in whatever encoding it is taken for."""
    return markup.encode("ascii", "xmlcharrefreplace").decode("ascii")
