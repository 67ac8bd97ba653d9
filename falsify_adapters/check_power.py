"""Which gaps a benchmark can certify, from its qrels alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from falsify_adapters import __version__
from falsify_adapters.check import check_options
from falsify_adapters.check_floor import floor
from falsify_adapters.core import power as law
from falsify_adapters.errors import OptionError
from falsify_adapters.measures import MeasureLike
from falsify_adapters.pool import PoolSpec

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry

GAPS = (0.06, 0.1, 0.2)


@dataclass(frozen=True, slots=True, eq=False)
class PowerReport:
    """What a benchmark can certify; `to_dict()` is what `power --format json` prints."""

    data: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, numbers unrounded."""
        return dict(self.data)

    def __getitem__(self, measure: str) -> Mapping[str, Any]:
        """The row of a measure in its canonical spelling. Raises KeyError naming what there is."""
        for row in self.data["results"]:
            if row["measure"] == measure:
                found: Mapping[str, Any] = row
                return found
        raise KeyError(f"{measure!r} is none of {', '.join(row['measure'] for row in self.data['results'])}")

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's ending: .json, .txt, .csv, .md, ... Raises OptionError."""
        from falsify_adapters.save_report import save

        save(self.data, path)


def power(
    qrels: Any,
    measures: Iterable[MeasureLike] | MeasureLike | None = None,
    *,
    pool: PoolSpec = "observed",
    depth: int | None = None,
    gaps: Sequence[float] = GAPS,
    chance: float = law.POWER,
    tau: float = 0.05,
    alpha: float = 0.05,
    rel: int = 1,
    queries_file: str | None = None,
    input_format: str | None = None,
    registry: Registry | None = None,
) -> PowerReport:
    """What the gate could certify with these queries, before any run exists.

    For each measure: the lowest score that passes null C, the true gap over it that passes with the chance `chance`,
    and that which passes in half of all tries; and for each of `gaps` the queries that it takes. For the hardest
    system, whose queries score 0 or the ceiling; one of even scores needs less. depth: documents retrieved, all where
    None. Raises FalsifyError.
    """
    check_options(tau=tau, alpha=alpha, chance=chance)
    for gap in gaps:
        if isinstance(gap, bool) or not isinstance(gap, Real) or not 0.0 < float(gap) <= 1.0:
            raise OptionError(f"{gap!r} is not legal", where="--gap", legal="a number above 0, up to 1")
    base = floor(
        qrels, measures, pool=pool, depth=depth, rel=rel, queries_file=queries_file, input_format=input_format,
        registry=registry,
    ).to_dict()  # fmt: skip
    n = base["qrels"]["queries"]
    rows = []
    for row in base["results"]:
        null, top = row["expected"], row["ceiling"]
        found = law.certifiable(n, null, top, tau, alpha, chance)
        rows.append(
            {
                "measure": row["measure"], "pool": row["pool"], "depth": row["depth"], "floor": null, "ceiling": top,
                "least_score": found.least_score, "gap": found.gap, "coin_toss": found.coin_toss,
                "false_pass": law.chance(n, null, top, 0.0, tau, alpha),
                "queries_needed": [
                    {"gap": float(gap), "queries": law.queries_for(float(gap), null, top, tau, alpha, chance)}
                    for gap in gaps
                ],
                "flags": row["flags"],
            }
        )  # fmt: skip
    return PowerReport(
        {
            "schema": "falsify-adapters.power/1", "version": __version__,
            "settings": {
                "tau": tau, "alpha": alpha, "chance": chance, "pool": base["settings"]["pool"], "depth": depth,
                "rel": rel, "seed": 0,
            },
            "qrels": base["qrels"], "results": rows,
        }
    )  # fmt: skip
