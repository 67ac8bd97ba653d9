"""The answer of `floor` as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, eq=False)
class FloorReport:
    """Noise floors of a benchmark and what was checked against them (INTERFACE.md, `floor --format json`)."""

    data: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Whether a check says above, below, fail or differs."""
        checks = (
            row[name] for row in self.data["results"] for name in ("check1", "check2", "noise_overlap", "harness")
        )
        return any(check is not None and check["verdict"] != "pass" for check in checks)

    @property
    def verdict(self) -> str:
        return "FAIL" if self.failed else "PASS"

    def __getitem__(self, measure: str) -> Mapping[str, Any]:
        """The row of a measure in its canonical spelling. Raises KeyError naming what there is."""
        for row in self.data["results"]:
            if row["measure"] == measure:
                found: Mapping[str, Any] = row
                return found
        raise KeyError(f"{measure!r} is none of {', '.join(row['measure'] for row in self.data['results'])}")

    def to_dict(self) -> dict[str, Any]:
        """Plain data, numbers unrounded."""
        return dict(self.data)

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's ending: .json, .html, .txt (the table). Raises OptionError."""
        from falsify_adapters.report.saving import save

        save(self.data, path)
