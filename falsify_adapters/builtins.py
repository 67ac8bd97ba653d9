"""The built-in things, offered through the same hooks as a stranger's. The nulls A to D are the core's own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from falsify_adapters.hookspecs import hookimpl
from falsify_adapters.offers import MeasureSpec, Offer

if TYPE_CHECKING:
    from falsify_adapters.measure_names import Family


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
    """The families of the table, whether kernels or backends compute them."""
    from falsify_adapters.measure_names import FAMILIES

    return [_measure(family) for family in FAMILIES]


def _measure(family: Family) -> Offer:
    return Offer(family.name, lambda: MeasureSpec(family), f"{family.title}: {family.meaning}")


@hookimpl
def commands() -> Iterable[Offer]:
    """The commands of `falsify-adapters`."""
    return (
        Offer("gate", "falsify_adapters.cli_gate:gate", "Test runs against the four nulls."),
        Offer("floor", "falsify_adapters.cli_floor:floor", "Check the noise floor of a benchmark."),
        Offer("noise", "falsify_adapters.cli_noise:noise", "Write random runs to push through your own scorer."),
        Offer("compare", "falsify_adapters.cli_compare:compare", "Compare runs: scores, significance, the gate."),
        Offer("audit", "falsify_adapters.cli_audit:audit", "Audit published results and benchmark folders."),
        Offer("power", "falsify_adapters.cli_power:power", "Tell which gap a benchmark could certify, before any run."),
        Offer("measures", "falsify_adapters.cli_lists:measures", "List measures and the backends that compute them."),
        Offer("plugins", "falsify_adapters.cli_lists:plugins", "List plugins and what each offers or fails to load."),
        Offer("demo", "falsify_adapters.cli_demo:demo", "Show a sound and a broken benchmark side by side."),
    )


@hookimpl
def readers() -> Iterable[Offer]:
    """The file formats that are told apart by their first bytes."""
    from falsify_adapters.readers import FORMATS

    return [Offer(known.name, known.target, known.summary) for known in FORMATS]


@hookimpl
def formats() -> Iterable[Offer]:
    """The report for people and for programs."""
    from falsify_adapters.report.saving import FORMATS

    return [Offer(known.name, known.target, known.summary) for known in FORMATS]


@hookimpl
def units() -> Iterable[Offer]:
    """From chunk ids to document ids."""
    here = "falsify_adapters.units"
    return (
        Offer("sep", f"{here}:by_separator", "the document id is what stands before the last separator"),
        Offer("regex", f"{here}:by_regex", "the document id is a group of a regular expression"),
        Offer("map", f"{here}:by_map", "a file of two columns, chunk id and document id"),
    )


@hookimpl
def pools() -> Iterable[Offer]:
    """Pools beside a number, `observed`, `run` and a file of ids, which need no name."""
    here = "falsify_adapters.pool_files"
    return (
        Offer("candidates", f"{here}:read_candidates", "a candidate list per query: query and document, or a TREC run"),
        Offer("ir_datasets", f"{here}:ir_datasets_size", "the documents of a collection that ir_datasets knows"),
        Offer("file", f"{here}:read_ids", "the ids of the collection, one a line or JSON Lines"),
    )
