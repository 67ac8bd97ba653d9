"""ir_measures, through whichever of its providers computes the measure (ranx excepted, which is a backend itself).

Measured in 0.4.3: measures asked for together get mixed up, names are parsed with code that Python 3.14 dropped, the
providers break ties differently, gdeval dies on grades above 4 and prints five decimals, Accuracy divides by zero
where every retrieved document is relevant. cwl_eval logs a warning at each call, and looks at 1000 ranks whose
weights it scales to sum to 1, so its RBP is RBP over 1 - p^1000: 7e-6 too high at p = 0.99, nothing at 0.95. Measures
are built from attributes here, and go to one provider one at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from falsify_adapters.adapters.ir_measures_names import measure_object, provider_of, refuse
from falsify_adapters.adapters.translate import SUBTOPICS, binary, elsewhere, judged, missing, ranked, require
from falsify_adapters.measures import Measure


class IrMeasuresBackend:
    """Every measure of quality in [0, 1] that the installed providers of ir_measures compute."""

    name = "ir_measures"

    def why_not(self, measure: Measure) -> str | None:
        absent = missing("ir_measures", "ir-measures")
        if absent:
            return absent
        wanted = measure_object(measure)
        subtopics = measure.family in SUBTOPICS
        provider, able = (None, []) if wanted is None or subtopics else provider_of(wanted)
        if provider is not None:
            return None
        if not able:
            return elsewhere(self.name, measure)
        cures = "; or ".join(f"{p.NAME}: {p.install_instructions()}" for p in able)
        where = ", or use --backend builtin" if measure.has_kernel else ""
        return f"ir_measures computes {measure} through a provider that is not installed ({cures}){where}"

    def tolerance(self, measure: Measure) -> float:
        return 6e-6 if measure.family == "ERR" or measure.gain == "exp" else 1e-9  # gdeval prints five decimals

    def score(
        self, measure: Measure, qrels: Mapping[str, Mapping[str, int]], run: Mapping[str, Mapping[str, float]]
    ) -> Sequence[float]:
        require(self, measure)
        refuse(measure, qrels, run)
        reach = max([1, *map(len, qrels.values()), *map(len, run.values())])
        wanted = measure_object(measure, reach)
        provider, _ = provider_of(wanted)
        leveled = "rel" in wanted.params
        log = logging.getLogger("ir_measures.cwl_eval")
        muted, log.disabled = log.disabled, True
        try:
            values = {
                metric.query_id: float(metric.value)
                for metric in provider.iter_calc(
                    [wanted],
                    binary(qrels, measure.rel) if leveled else judged(qrels),
                    ranked(qrels, run, measure.cutoff if measure.family == "RBP" else None),
                )
            }
        finally:
            log.disabled = muted
        return [values.get(query, float(wanted.DEFAULT)) for query in qrels]  # Accuracy leaves queries out
