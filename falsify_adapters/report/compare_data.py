"""The comparison as an object: ranx's report where ranx is installed, and the same methods where it is not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import count, islice, product
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from falsify_adapters.report import compare_text

if TYPE_CHECKING:
    from falsify_adapters.report.data import GateReport


def letters(n: int) -> list[str]:
    """a, b, ..., z, aa, ab, ...: one for each of n runs."""
    names = ("".join(word) for length in count(1) for word in product(ascii_lowercase, repeat=length))
    return list(islice(names, n))


class Comparison:
    """Runs side by side. `data` is what `compare --format json` prints; `gate` is the gate's report of all runs.

    The attributes and methods of `ranx.Report`: model_names, results, comparisons, metrics, max_p, win_tie_loss,
    to_table, to_latex, to_dict, to_dataframe, save, print_results.
    """

    def __init__(self, data: Mapping[str, Any], gate: GateReport) -> None:
        settings = data["settings"]
        self.data, self.gate = data, gate
        self.model_names = [run["run"] for run in data["runs"]]
        self.metrics = list(data["measures"])
        self.results = {name: dict(scores) for name, scores in data["scores"].items()}
        self.max_p, self.stat_test = settings["max_p"], settings["stat_test"]
        self.rounding_digits, self.show_percentages = settings["rounding_digits"], settings["show_percentages"]
        self.comparisons = self._pairs()
        self.win_tie_loss = self._wins()

    @property
    def verdict(self) -> str:
        """FAIL if any score fails, else UNDER-NS if any is undecided, else PASS."""
        return self.gate.verdict

    def _pairs(self) -> Any:
        found: dict[frozenset[str], dict[str, Any]] = {}
        for row in self.data["comparisons"]:
            p = float("nan") if row["p_adjusted"] is None else row["p_adjusted"]
            pair = found.setdefault(frozenset((row["a"], row["b"])), {})
            pair[row["measure"]] = {"p_value": p, "significant": row["significant"]}
        return _by_pair(found)

    def _wins(self) -> dict[tuple[str, str], dict[str, dict[str, int]]]:
        out: dict[tuple[str, str], dict[str, dict[str, int]]] = {}
        for row in self.data["comparisons"]:
            win, tie, loss = row["win"], row["tie"], row["loss"]
            out.setdefault((row["a"], row["b"]), {})[row["measure"]] = {"W": win, "T": tie, "L": loss}
            out.setdefault((row["b"], row["a"]), {})[row["measure"]] = {"W": loss, "T": tie, "L": win}
        return out

    def get_metric_label(self, m: str) -> str:
        """The name of a measure in the head of a table: its own."""
        return m

    def to_table(self) -> str:
        """The table as text, 80 columns wide."""
        return compare_text.render_compare(self.data, width=80, color=False, ascii_only=False)

    def to_latex(self) -> str:
        """The table for LaTeX, with booktabs."""
        from falsify_adapters.report.markup_tables import to_latex

        return to_latex(self.data)

    def to_dict(self) -> dict[str, Any]:
        """The form of `ranx.Report.to_dict`, p-values as they decide, and under "gate" the gate's report."""
        out: dict[str, Any] = {"stat_test": self.stat_test, "metrics": self.metrics, "model_names": self.model_names}
        for name in self.model_names:
            others = [other for other in self.model_names if other != name]
            out[name] = {
                "scores": self.results[name],
                "comparisons": {
                    o: {m: self.comparisons[{name, o}][m]["p_value"] for m in self.metrics} for o in others
                },
                "win_tie_loss": {o: self.win_tie_loss[name, o] for o in others},
                "gate": {
                    r["measure"]: r["verdict"] for at, r in self._gate_rows() if at == name
                },
            }  # fmt: skip
        return out

    def _gate_rows(self) -> list[tuple[str, Mapping[str, Any]]]:
        n = len(self.metrics)
        return [(self.model_names[at // n], row) for at, row in enumerate(self.data["gate"]["results"])]

    def to_dataframe(self) -> Any:
        """A pandas frame with a row per run: model_names, the scores, and the gate's verdict of each measure."""
        import pandas as pd

        made = self.to_dict()
        rows = [
            {"model_names": name, **made[name]["scores"], **{f"gate {m}": v for m, v in made[name]["gate"].items()}}
            for name in self.model_names
        ]
        return pd.DataFrame(rows)

    def save(self, path: str | Path) -> None:
        """Write the report: .json holds `to_dict`, any other ending what it stands for. Raises OptionError."""
        from falsify_adapters.report.saving import write
        from falsify_adapters.save_report import save

        if Path(path).suffix.lower() == ".json":
            write(Path(path), json.dumps(self.to_dict(), indent=4) + "\n")
        else:
            save(self.data, path)

    def print_results(self) -> None:
        """Print the scores as JSON."""
        print(json.dumps(self.results, indent=4))

    def __repr__(self) -> str:
        return self.to_table()

    __str__ = __repr__


def comparison(data: Mapping[str, Any], gate: GateReport) -> Comparison:
    """A `Comparison`, which is a `ranx.Report` too where ranx is installed."""
    return _kind()(data, gate)


@cache
def _kind() -> type[Comparison]:
    try:
        from ranx.data_structures import Report
    except ImportError:
        return Comparison
    return type("Comparison", (Comparison, Report), {"__doc__": Comparison.__doc__, "__module__": __name__})


def _by_pair(found: Mapping[frozenset[str], Any]) -> Any:
    """ranx's dict by pairs, asked with [a, b] or [{a, b}]; a plain one with the same manners without ranx."""
    try:
        from ranx.data_structures import FrozensetDict as Pairs
    except ImportError:
        Pairs = _Pairs
    out = Pairs()
    for pair, value in found.items():
        out[pair] = value
    return out


class _Pairs(dict[Any, Any]):
    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(frozenset(key))

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(frozenset(key), value)
