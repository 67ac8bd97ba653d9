"""A report into a file, in the format of its ending, those of plugins included."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from falsify_adapters.registry import Registry
from falsify_adapters.report.saving import fitting, format_of, write


def save(report: Mapping[str, Any], path: str | Path, registry: Registry | None = None) -> None:
    """Write a report as plain data. Raises OptionError where the ending stands for no format of such a report, or
    where the file cannot be written."""
    registry = registry or Registry()
    kind = report["schema"].removeprefix("falsify-adapters.").partition("/")[0]
    name = format_of(path, fitting(kind, registry.names("formats")))
    write(Path(path), str(registry.resolve("formats", name)(report)))
