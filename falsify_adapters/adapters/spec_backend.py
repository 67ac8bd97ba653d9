"""A measure that brings its own functions: its scores as a backend, its floor; one call of a function per query."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from falsify_adapters.errors import PluginError
from falsify_adapters.measure_names import NONE, REQUIRED, Param, Value, fold
from falsify_adapters.offers import MeasureSpec

if TYPE_CHECKING:
    from falsify_adapters.measures import Measure
    from falsify_adapters.model import Floats, Ints, Judgments, Pool


class SpecBackend:
    """Computes one family, by `spec.score`. `package` (name and version) says whose function it is."""

    def __init__(self, spec: MeasureSpec, package: str) -> None:
        if spec.score is None:
            raise PluginError(f"the measure {spec.name} of {package} has no scoring function")
        self.name = f"measure of {package}"
        self._spec = spec
        self._score = spec.score

    def why_not(self, measure: Measure) -> str | None:
        """None for every measure of the family whose cutoff and parameters are as the spec says."""
        family = self._spec.family
        if fold(measure.family) != fold(family.name):
            return f"{self.name} computes {family.name}, not {measure.family}"
        if family.cutoff == REQUIRED and measure.cutoff is None:
            return f"{family.name} needs a cutoff: write {family.name}@10"
        if family.cutoff == NONE and measure.cutoff is not None:
            return f"{family.name} takes no cutoff: write {family.name}"
        for name, value in measure.params:
            param = family.params.get(name)
            if param is None:
                return f"{family.name} has no parameter {name!r} (it has: {', '.join(family.params) or 'none'})"
            if not _fits(value, param):
                return f"{name}={value!r} of {family.name} is not legal: {param.legal}"
        return None

    def tolerance(self, measure: Measure) -> float:  # noqa: ARG002
        """1e-9: the function's values are not rounded on the way."""
        return 1e-9

    def score(
        self,
        measure: Measure,
        qrels: Mapping[str, Mapping[str, int]],
        run: Mapping[str, Mapping[str, float]],
    ) -> list[float]:
        """One value per query, in the order of `qrels`."""
        values = []
        for query, judged in qrels.items():
            scores = run[query]
            ranked = sorted(scores, key=scores.__getitem__, reverse=True)[: measure.cutoff]
            values.append(
                float(self._score(measure, [judged.get(doc) for doc in ranked], sorted(judged.values(), reverse=True)))
            )
        return values


def floors(spec: MeasureSpec, measure: Measure, judgments: Judgments, pool: Pool, depth: Ints) -> Floats:
    """(Q,) expectation of each query under random ranking, by `spec.floor`; depth: (Q,) documents retrieved.

    Raises PluginError where the measure has no exact floor.
    """
    import numpy as np

    if spec.floor is None:
        raise PluginError(f"the measure {spec.name} has no exact floor", mend="Simulate it.")
    out = np.empty(judgments.n_queries)
    for query, (first, end) in enumerate(itertools.pairwise(judgments.start.tolist())):
        grades = judgments.grade[first:end]
        inside = grades if pool.inside is None else grades[pool.inside[first:end]]
        n, drawn = int(pool.size[query]), int(depth[query])
        out[query] = spec.floor(measure, n, drawn, *(sorted(g.tolist(), reverse=True) for g in (inside, grades)))
    return out


def _fits(value: Value, param: Param) -> bool:
    if param.type in (bool, str):
        return isinstance(value, param.type)
    if isinstance(value, (bool, str)) or (param.type is int and not isinstance(value, int)):
        return False
    return param.low < value < param.high if param.open else param.low <= value <= param.high
