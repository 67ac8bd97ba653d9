"""A plugin for falsify-adapters: Sakai's Q-measure. Importing it loads the hook markers and nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from falsify_adapters.hookspecs import hookimpl
from falsify_adapters.offers import Offer


@hookimpl
def measures() -> Iterable[Offer]:
    """Offer the measure Q, typed Q, Q@10 or Q(beta=10)@10."""
    return [Offer("Q", "falsify_q_measure.measure:SPEC", "Q-measure: average precision that counts gains as well")]
