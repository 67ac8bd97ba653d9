"""A report as one HTML page that needs nothing else: no script, no request, no font, and no clock.

The verdict first, then for each row a picture, what to do, and the numbers; then the flags, the settings and the
files. The same report gives the same bytes, in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from falsify_adapters.report.cures import CURES
from falsify_adapters.report.html_style import STYLE
from falsify_adapters.report.markup import Child, Markup, el, join, plain_ascii
from falsify_adapters.report.page import Notes, shown
from falsify_adapters.report.render import AUDIT, COMPARE, FLOOR
from falsify_adapters.report.safe import count

KINDS = {"pass": "pass", "under-ns": "open", "toothless": "toothless"}  # of colour; whatever else is a failure


def to_html(report: Mapping[str, Any]) -> str:
    """The report, of `gate` or of `floor`, as a page in ASCII."""
    if report["schema"].startswith(FLOOR):
        from falsify_adapters.report.html_floor import content
    elif report["schema"].startswith(AUDIT):
        from falsify_adapters.report.html_audit import content
    elif report["schema"].startswith(COMPARE):
        from falsify_adapters.report.html_compare import content
    else:
        from falsify_adapters.report.html_gate import content
    title, body = content(report)
    head = el(
        "head",
        el("meta", charset="utf-8"),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content="light dark"),
        el("title", title),
        el("style", Markup(STYLE)),
    )
    foot = el("footer", el("p", f"falsify-adapters {report['version']}, {report['schema']}"))
    page = el("html", head, el("body", join(body, "\n"), foot), lang="en")
    return plain_ascii(f"<!DOCTYPE html>\n{page}\n")


def verdict(word: str) -> Markup:
    """A verdict as a word, which its colour repeats."""
    return el("span", word, class_=f"verdict {KINDS.get(word.lower(), 'fail')}")


def steps(sentences: Sequence[str], heading: str = "What to do") -> Markup | None:
    """What to do next; nothing where there is nothing to do."""
    if not sentences:
        return None
    return el("div", el("p", heading), [el("p", sentence) for sentence in sentences], class_="steps")


def table(
    caption: str,
    heads: Sequence[str],
    rows: Iterable[Sequence[Child]],
    *,
    words: Sequence[int] = (0,),
    name: str = "",
    of: str = "",
) -> Markup:
    """A table whose first column names its rows. words: the columns that hold words, the others hold numbers.

    of: what tells the table from others with the same caption, for those who hear the page.
    """
    kinds = ["" if i in words else "n" for i in range(len(heads))]
    top = [el("th", head, scope="col", class_=kind or None) for head, kind in zip(heads, kinds, strict=True)]
    body = []
    for first, *others in rows:
        cells = [el("td", cell, class_=kind or None) for cell, kind in zip(others, kinds[1:], strict=True)]
        body.append(el("tr", el("th", first, scope="row"), cells))
    whole = el(
        "table", el("caption", caption), el("thead", el("tr", top)), el("tbody", join(body, "\n")), class_=name or None
    )
    return el("div", whole, class_="scroll", role="region", aria_label=f"{caption}{of and ': '}{of}", tabindex="0")


def facts(caption: str, pairs: Iterable[tuple[Child, Child]], name: str = "names") -> Markup:
    """A table of names and what stands for them."""
    rows = [el("tr", el("th", key, scope="row"), el("td", value, class_="long")) for key, value in pairs]
    return el("table", el("caption", caption), el("tbody", join(rows, "\n")), class_=name)


def note_numbers(notes: Notes, result: Mapping[str, Any]) -> list[Child]:
    """The numbers of a row's notes, as links that are large enough for a finger."""
    codes = list(notes.messages)
    links = ((n, f"{n}, {shown(codes[n - 1])}") for n in notes.of_row(result))
    return [el("a", str(n), href=f"#note-{n}", aria_label=said, title=said, class_="note") for n, said in links]


def note_links(notes: Notes, result: Mapping[str, Any]) -> Markup | None:
    """A row's flags: its own message where rows differ, and the way to what can be done about each."""
    own: dict[int, list[str]] = {}
    for n, message in notes.own(result):
        own.setdefault(n, []).append(message)
    codes = list(notes.messages)
    lines = []
    for n in notes.of_row(result):
        link = el("a", shown(codes[n - 1]), href=f"#note-{n}")
        lines.append(el("li", link, ": " if n in own else None, " ".join(own.get(n, ()))))
    return el("div", el("h3", "Notes on this row"), el("ul", lines)) if lines else None


def note_list(notes: Notes, results: Sequence[Mapping[str, Any]]) -> Markup | None:
    """Every flag in words, what to do about it, and how many rows have it."""
    blocks = []
    for code, messages in notes.messages.items():
        n = notes.number(code)
        rows = sum(n in notes.of_row(result) for result in results)
        share = el("p", f"In {rows} of {count(len(results), 'row')}.", class_="soft") if len(results) > 1 else None
        said = [el("li", message) for message in messages]
        cure = CURES.get(code)
        todo = el("p", el("strong", "What to do: "), cure) if cure else None
        blocks += [el("h3", shown(code), id=f"note-{n}"), el("ul", said), todo, share]
    return el("section", el("h2", "Notes"), blocks) if blocks else None


def settings(report: Mapping[str, Any], files: Iterable[tuple[str, str, str | None]]) -> Markup:
    """How the numbers were made. files: what each is, its path, and its sha256."""
    plain = [(el("code", name), _plain(value)) for name, value in report["settings"].items()]
    rows = [(what, path, el("code", digest) if digest else "not read from a file") for what, path, digest in files]
    listed = table("Files", ("what", "path", "sha256"), rows, words=(0, 1, 2), name="names")
    return el("section", el("h2", "Settings and files"), facts("Settings", plain, ""), listed)


def _plain(value: Any) -> str:
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(str, value)) or "none"
    return f"{value:g}" if isinstance(value, float) else str(value)
