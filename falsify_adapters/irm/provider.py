"""The provider: what ir_measures asks, answered by the gate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING, Any

from ir_measures import Metric
from ir_measures.providers import Evaluator, Provider

from falsify_adapters.check import gate
from falsify_adapters.irm.measures import ChanceMeasure, extra_nulls
from falsify_adapters.readers import read_qrels, read_run

if TYPE_CHECKING:
    from falsify_adapters.model import Qrels


class ChanceProvider(Provider):
    """Computes the measures of this package. Others of ir_measures go to its other providers, as ever."""

    NAME = "falsify_adapters"

    def supports(self, measure: Any) -> bool:
        """Whether it is one of ours. Raises MeasureError where it lacks a parameter."""
        if not isinstance(measure, ChanceMeasure):
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Iterable[Any], qrels: Any) -> ChanceEvaluator:
        return ChanceEvaluator(sorted(measures, key=str), read_qrels(qrels))


class ChanceEvaluator(Evaluator):
    """The measures over qrels that were read once. Each run goes through the gate, once for all measures that have
    pool, seed and draws in common, and every judged query gets a value."""

    def __init__(self, measures: list[ChanceMeasure], qrels: Qrels) -> None:
        super().__init__(measures, qrels.queries)
        self._ours, self._qrels = measures, qrels

    def _iter_calc(self, run: Any) -> Iterator[Metric]:
        rows = run if isinstance(run, Sized) else list(run)
        if len(rows) == 0:
            return  # ir_measures gives every query the measure's DEFAULT, 0
        table = read_run(rows)
        groups: dict[tuple[Any, ...], list[ChanceMeasure]] = {}
        for measure in self._ours:
            key = (measure["pool"], measure["n_boot"], measure["seed"], _null_d(measure), extra_nulls(measure))
            groups.setdefault(key, []).append(measure)
        for (pool, n_boot, seed, null_d, extra), group in groups.items():
            bases = dict.fromkeys(measure["base"] for measure in group)
            report = gate(
                self._qrels, [table], bases, pool=pool, n_boot=n_boot, seed=seed, null_d=null_d, extra_nulls=extra
            )
            for measure in group:
                entry = report[measure["base"]]
                for query, value in zip(entry.queries, measure.values(entry).tolist(), strict=True):
                    yield Metric(query_id=query, measure=measure, value=value)


def _null_d(measure: ChanceMeasure) -> str:
    return str(measure["null_d"]) if "null_d" in measure.SUPPORTED_PARAMS else "documents"
