"""The answer of `floor` as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falsify_adapters.report.floor_advice import overall
from falsify_adapters.report.rows import frame, rows


@dataclass(frozen=True, slots=True, eq=False)
class FloorReport:
    """Noise floors of a benchmark and what was checked against them (INTERFACE.md, `floor --format json`)."""

    data: Mapping[str, Any]

    @property
    def failed(self) -> bool:
        """Whether a check says above, below, fail or differs."""
        return self.verdict == "FAIL"

    @property
    def verdict(self) -> str:
        """PASS or FAIL of all checks; NO CHECK where none was asked for."""
        return overall(self.data["results"]) or "NO CHECK"

    def __getitem__(self, measure: str) -> Mapping[str, Any]:
        """The row of a measure in its canonical spelling. Raises KeyError naming what there is."""
        for row in self.data["results"]:
            if row["measure"] == measure:
                found: Mapping[str, Any] = row
                return found
        raise KeyError(f"{measure!r} is none of {', '.join(row['measure'] for row in self.data['results'])}")

    def __str__(self) -> str:
        """The table, as on a terminal."""
        from falsify_adapters.report.floor_text import render_floor

        return render_floor(self.data, width=80, color=False, ascii_only=False)

    def to_frame(self, *, pandas: bool = False) -> Any:
        """One row per measure: the floor and what each check found. A polars frame, or a pandas frame."""
        return frame(rows(self.data), pandas=pandas)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, numbers unrounded."""
        return dict(self.data)

    def plot(self) -> Any:
        """Floor, noise, score and ceiling of all measures as a matplotlib figure (extra `plot`)."""
        from falsify_adapters.report.plot_floor import plot_floor

        return plot_floor(self.data)

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's ending: .html, .json, .csv, .md, ... Raises OptionError."""
        from falsify_adapters.save_report import save

        save(self.data, path)
