"""A report into a file, in the format of the file's ending."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from falsify_adapters.errors import OptionError

ENDINGS = (".json", ".html", ".txt")
WIDTH = 100


def save(report: Mapping[str, Any], path: str | Path) -> None:
    """Write the report: .json, .html, or .txt for the table. Raises OptionError."""
    path = Path(path)
    if path.suffix == ".json":
        from falsify_adapters.report.plain import to_json

        text = to_json(report)
    elif path.suffix == ".html":
        from falsify_adapters.report.html import to_html

        text = to_html(report)
    elif path.suffix == ".txt":
        from falsify_adapters.report.render import render

        text = render(report, width=WIDTH, color=False, ascii_only=False)
    else:
        legal = ", ".join(ENDINGS)
        raise OptionError(f"no format has the ending {path.suffix!r}", where=str(path), legal=legal)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise OptionError(f"cannot be written: {error.strerror or error}", where=str(path)) from None
