"""The hooks that a plugin can implement, one for each kind of thing that can be added."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pluggy import HookimplMarker, HookspecMarker

if TYPE_CHECKING:
    from falsify_adapters.offers import Offer

hookspec = HookspecMarker("falsify_adapters")
hookimpl = HookimplMarker("falsify_adapters")


@hookspec
def backends() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer backends: objects that compute measures, one value per query (`model.Backend`)."""


@hookspec
def measures() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer measure families, with their scoring function and exact floor where there is one (`offers.MeasureSpec`)."""


@hookspec
def nulls() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer nulls beside A, B, C and D (`offers.ExtraNull`)."""


@hookspec
def readers() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer readers of run and qrels formats (`offers.Reader`)."""


@hookspec
def pools() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer pool sources: where the number of documents comes from (`offers.PoolSource`)."""


@hookspec
def units() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer unit mappings: chunk id to document id (`offers.UnitMapping`)."""


@hookspec
def formats() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer output formats: a report as plain data to text (`offers.Format`)."""


@hookspec
def commands() -> Iterable[Offer]:  # type: ignore[empty-body]
    """Offer subcommands of the command line (`click.Command`)."""
