"""What the gate is given and what it answers, for one measure of one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from falsify_adapters.core.bootstrap import Interval
from falsify_adapters.core.chunk_null import ChunkPool
from falsify_adapters.core.cross import CrossScores, Grade
from falsify_adapters.core.nulls import NullScores
from falsify_adapters.measures import Measure
from falsify_adapters.model import Flag, Floats, Ints, Judgments, Lists, Pool

# (S, number of draws, generator) -> a null's scores
ExtraScores = Callable[[CrossScores, int, np.random.Generator], NullScores]

MIN_QUERIES = 5  # below this no interval is given
LABEL_NULLS = ("A", "B", "D")


@dataclass(frozen=True, slots=True)
class Settings:
    """tau: the gap that matters; alpha: family level; n_boot: draws and resamples; null_d: "documents" or "sets"."""

    tau: float = 0.05
    alpha: float = 0.05
    n_boot: int = 1000
    seed: int = 0
    null_d: str = "documents"


@dataclass(frozen=True, slots=True)
class NullResult:
    """One null: its mean with standard error, the gap with its intervals (None under five queries), p and verdict."""

    mean: float
    se: float
    method: str
    delta: float
    ci95: Interval | None
    ci: Interval | None
    p: float
    reach: float
    verdict: str
    per_query: Floats = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class GateResult:
    """All that is known of one measure of one run. Arrays are (Q,), one value per judged query."""

    measure: Measure
    score: float
    floor: float
    floor_se: float
    ceiling: float
    tie_span: Interval
    tied_queries: int
    judged_at_k: float
    nulls: Mapping[str, NullResult]
    popularity: float
    paired: GateResult | None
    verdict: str
    queries_needed: int | None
    flags: tuple[Flag, ...]
    own: Floats = field(repr=False, compare=False)
    floor_per_query: Floats = field(repr=False, compare=False)

    @property
    def chance_corrected(self) -> float | None:
        """(score - floor) / (ceiling - floor); None where there is no room."""
        room = self.ceiling - self.floor
        return (self.score - self.floor) / room if room > 0 else None


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """What one measure of one run is judged on.

    grade: how hits are graded (kernel or backend); own, ideal: (Q,) the system's values and those of the best lists,
    as the backend gave them; floor: (Q,) exact expectation under random retrieval, None where it has to be simulated;
    n_draws: draws from each null, n_boot where None (a backend that grades the draws itself gets fewer); sparse:
    whether the measure is 0 without a retrieved gold document; extra: nulls beside the four, by name; chunks: the pool
    in chunks, where random retrieval draws those; slack: how far the backend's values may lie from exact ones, so that
    a rounded score is not held to lie under draws that equal it; clusters: (Q,) the cluster of each query, from 0,
    where queries are not independent: intervals resample clusters.
    """

    measure: Measure
    judgments: Judgments
    lists: Lists
    pool: Pool
    grade: Grade
    own: Floats
    ideal: Floats
    floor: Floats | None = None
    n_draws: int | None = None
    sparse: bool = True
    extra: Mapping[str, ExtraScores] = field(default_factory=dict)
    chunks: ChunkPool | None = None
    slack: float = 1e-12
    clusters: Ints | None = None

    @property
    def independent(self) -> int:
        """How many units can be resampled: queries, or clusters of them."""
        return self.judgments.n_queries if self.clusters is None else int(self.clusters.max(initial=-1)) + 1
