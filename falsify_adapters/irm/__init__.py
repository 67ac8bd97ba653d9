"""Measures for ir_measures and PyTerrier: chance-corrected scores, lifts over the nulls, floors.

    from ir_measures import nDCG
    from falsify_adapters.irm import ChanceCorrected, Floor, Lift

    ir_measures.calc_aggregate([nDCG @ 10, ChanceCorrected(nDCG @ 10, pool=528_155)], qrels, run)

Importing this module makes the three known to ir_measures: its parser finds their names, and its default pipeline
their provider. `python -m falsify_adapters.irm QRELS RUN MEASURE...` is ir_measures' command line with them in it.
"""

from __future__ import annotations

from falsify_adapters.errors import NotInstalledError

try:
    import ir_measures as _library
except ModuleNotFoundError as error:
    if error.name != "ir_measures":
        raise
    raise NotInstalledError(
        "ir_measures is not installed", mend="pip install 'falsify-adapters[ir-measures]' brings it."
    ) from None

from falsify_adapters.irm.measures import ChanceCorrected, ChanceMeasure, Floor, Lift
from falsify_adapters.irm.provider import ChanceProvider

__all__ = ["ChanceCorrected", "ChanceMeasure", "ChanceProvider", "Floor", "Lift", "register"]


def register() -> None:
    """Make the measures and their provider known to ir_measures, once; done when this module is imported."""
    known = _library.measures.registry
    for measure in (ChanceCorrected, Floor, Lift):
        if measure.NAME not in known:
            _library.measures.register(measure)
    if ChanceProvider.NAME not in _library.providers.registry:
        provider = ChanceProvider()  # type: ignore[no-untyped-call]
        _library.DefaultPipeline.providers.append(_library.providers.register(provider))


register()
