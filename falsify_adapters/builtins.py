"""The built-in things, offered through the same hooks as a stranger's. The nulls A to D are the core's own."""

from __future__ import annotations

from collections.abc import Iterable

from falsify_adapters.hookspecs import hookimpl
from falsify_adapters.offers import MeasureSpec, Offer


@hookimpl
def backends() -> Iterable[Offer]:
    """The libraries people already use, and our own kernels."""
    here = "falsify_adapters.adapters"
    return (
        Offer("builtin", f"{here}.builtin:BuiltinBackend", "the kernels of this package"),
        Offer("ir_measures", f"{here}.ir_measures_adapter:IrMeasuresBackend", "ir_measures, through its providers"),
        Offer("pytrec_eval", f"{here}.pytrec_eval_adapter:PytrecEvalBackend", "pytrec_eval, trec_eval in Python"),
        Offer("ranx", f"{here}.ranx_adapter:RanxBackend", "ranx, numba kernels"),
    )


@hookimpl
def measures() -> Iterable[Offer]:
    """The families with kernels and closed floors."""
    from falsify_adapters.families import FAMILIES

    return [_family(spec) for spec in FAMILIES]


def _family(spec: MeasureSpec) -> Offer:
    return Offer(spec.name, lambda: spec, f"{spec.title}: {spec.summary}")
