"""Runs side by side: scores, which differ significantly, and which the gate lets through."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, cast

import numpy as np

from falsify_adapters import __version__
from falsify_adapters.check import gate
from falsify_adapters.core.significance import TESTS, StatTest, holm, least_p, p_values
from falsify_adapters.errors import OptionError
from falsify_adapters.measures import MeasureLike
from falsify_adapters.model import Floats
from falsify_adapters.readers.build import run_name
from falsify_adapters.report.compare_data import Comparison, comparison, letters
from falsify_adapters.report.data import GateReport

PERMUTATIONS = 1000  # ranx's number
MOST_PERMUTATIONS = 100_000  # that Holm's correction asks for by itself


def compare(
    qrels: Any,
    runs: Sequence[Any],
    measures: Iterable[MeasureLike] | MeasureLike = "nDCG@10",
    *,
    stat_test: str = "student",
    max_p: float = 0.01,
    correction: str = "none",
    n_permutations: int | None = None,
    gate_column: str = "one",
    rounding_digits: int = 3,
    show_percentages: bool = False,
    **options: Any,
) -> Comparison:
    """A table of runs as ranx makes it, with a column that says whether each score is real.

    stat_test: "student" (paired t), "fisher" (randomization) or "tukey" (HSD, unpaired, as in ranx); a superscript
    marks runs that are worse at p <= max_p; correction: "none", ranx's rule, or "holm", over all comparisons made.
    n_permutations: of fisher, 1000 if not given, and under "holm" enough for the smallest p to survive it.
    gate_column: "one" for all measures or "each". rounding_digits, show_percentages: of the scores shown, as in ranx.
    options: those of `gate`. Returns a `ranx.Report` where ranx is installed, with the same methods where it is not.
    Raises FalsifyError.
    """
    _check(stat_test, max_p, correction, n_permutations, gate_column, rounding_digits)
    test = cast("StatTest", stat_test)
    sources = list(runs) if isinstance(runs, (list, tuple)) else [runs]
    report = gate(qrels, sources, measures, **options)
    names = _names(report, len(sources))
    n = len(report.entries) // len(names)
    entries = [report.entries[at * n : (at + 1) * n] for at in range(len(names))]
    if len({entry.queries for group in entries for entry in group}) > 1:
        raise OptionError(
            "runs answer different queries, and what is compared has to be over the same ones",
            where="--queries", legal="judged", mend="Or name the queries that all of them answer with --queries-file.",
        )  # fmt: skip
    kinds = [str(entry.measure) for entry in entries[0]]
    values = [np.stack([group[m].result.own for group in entries]) for m in range(n)]
    draws = n_permutations or _enough(n * math.comb(len(names), 2), max_p, correction)
    seed = int(report.settings["seed"])
    p = [p_values(test, v, draws, np.random.default_rng(seed)) for v in values]
    rows, family = _comparisons(names, kinds, values, p, max_p, correction)
    least = least_p(test, values[0].shape[1], draws) * (max(family, 1) if correction == "holm" else 1)
    data = {
        "schema": "falsify-adapters.compare/1",
        "version": __version__,
        "settings": {
            **report.settings, "stat_test": stat_test, "max_p": max_p, "correction": correction,
            "n_permutations": draws if test == "fisher" else None, "gate_column": gate_column,
            "rounding_digits": rounding_digits, "show_percentages": show_percentages,
        },
        "qrels": report.to_dict()["qrels"],
        "runs": [{"letter": letter, "run": name} for letter, name in zip(letters(len(names)), names, strict=True)],
        "measures": kinds,
        "scores": {
            name: {m: e.score for m, e in zip(kinds, group, strict=True)}
            for name, group in zip(names, entries, strict=True)
        },
        "comparisons": rows,
        "family": family,
        "least_p": min(least, 1.0),
        "gate": report.to_dict(),
    }  # fmt: skip
    return comparison(data, report)


def _names(report: GateReport, n: int) -> list[str]:
    """The runs in their order, each with a name of its own: the file's without its ending, else as it was given."""
    each = len(report.entries) // n
    firsts = [report.entries[at * each] for at in range(n)]
    short = [run_name(entry.run) if entry.run == entry.path else entry.run for entry in firsts]
    names = short if len(set(short)) == n else [entry.run for entry in firsts]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise OptionError(
            f"{twice[0]!r} is the name of {names.count(twice[0])} runs", legal="runs with names of their own",
            mend="Give each run once, and each object a name.",
        )  # fmt: skip
    return names


def _enough(tests: int, max_p: float, correction: str) -> int:
    """Draws of the randomization test: ranx's number, or ten times what lets the smallest p pass Holm's first step."""
    needed = math.ceil(10 * tests / max_p) if correction == "holm" else 0
    return max(PERMUTATIONS, min(needed, MOST_PERMUTATIONS))


def _comparisons(
    names: Sequence[str],
    measures: Sequence[str],
    values: Sequence[Floats],
    p: Sequence[Floats],
    max_p: float,
    correction: str,
) -> tuple[list[dict[str, Any]], int]:
    """One row per pair and measure, and how many tests there were."""
    rows = []
    for m, measure in enumerate(measures):
        for a, b in combinations(range(len(names)), 2):
            first, second, found = values[m][a], values[m][b], float(p[m][a, b])
            rows.append(
                {
                    "measure": measure, "a": names[a], "b": names[b],
                    "delta": float(first.mean() - second.mean()), "p": None if np.isnan(found) else found,
                    "win": int((first > second).sum()), "tie": int((first == second).sum()),
                    "loss": int((first < second).sum()),
                }
            )  # fmt: skip
    given = np.array([np.nan if row["p"] is None else row["p"] for row in rows], dtype=np.float64)
    adjusted = holm(given) if correction == "holm" else given
    for row, value in zip(rows, adjusted.tolist(), strict=True):
        row["p_adjusted"] = None if np.isnan(value) else value
        row["significant"] = bool(value <= max_p)
    return rows, int((~np.isnan(adjusted)).sum())


def _check(test: str, max_p: Any, correction: str, n_permutations: Any, column: str, digits: Any) -> None:
    for name, value, legal in (
        ("stat-test", test, TESTS), ("correction", correction, ("none", "holm")),
        ("gate-column", column, ("one", "each")),
    ):  # fmt: skip
        if value not in legal:
            raise OptionError(f"{value!r} is not legal", where=f"--{name}", legal=", ".join(legal))
    if isinstance(max_p, bool) or not isinstance(max_p, (int, float)) or not 0 < max_p < 1:
        raise OptionError(f"{max_p!r} is not legal", where="--max-p", legal="a number above 0 and below 1")
    permutations = 1 if n_permutations is None else n_permutations
    for name, number, least in (("permutations", permutations, 1), ("digits", digits, 2)):
        if isinstance(number, bool) or not isinstance(number, int) or number < least:
            raise OptionError(f"{number!r} is not legal", where=f"--{name}", legal=f"a whole number, {least} or more")
