"""Floors of measures that only a backend computes: its own values on random rankings, or a plugin's formula."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from falsify_adapters.adapters.spec_backend import floors as by_spec
from falsify_adapters.core import nulls, orders
from falsify_adapters.core.cross import Grade
from falsify_adapters.core.gate import own_values
from falsify_adapters.errors import MeasureError, OptionError
from falsify_adapters.grading import FEWEST, backend_grade
from falsify_adapters.judging import Plan
from falsify_adapters.model import Floats, Judgments
from falsify_adapters.noise_checks import DRAWS, MEANS, Bench, Floor
from falsify_adapters.pool import Entrant

DOCUMENTS = 12_000_000  # handed to a backend for one floor, about: some five seconds of trec_eval
ROUNDING = 1e-12
MOST = 3_000_000  # in one random run, FEWEST of which have to be graded: half a minute


def floor_of(plan: Plan, bench: Bench) -> Floor:
    """As `noise_checks.floor_of`, through the backend. Raises MeasureError where chunks are drawn, OptionError where
    lists are too long to be handed over."""
    measure, judgments, pool = plan.measure, bench.judgments, bench.pool
    if bench.chunks is not None:
        raise MeasureError(
            f"{measure} has no kernel, and floors over chunks are made with kernels", mend="Leave --chunks out."
        )
    depth = np.minimum(bench.depth, pool.size)
    shown = depth if measure.cutoff is None else np.minimum(depth, measure.cutoff)
    if int(shown.sum()) > MOST:
        raise OptionError(
            f"{measure} is graded by {plan.backend.name}, and random lists over the whole pool hold "
            f"{int(shown.sum())} documents",
            where="--depth",
            legal=f"{MOST} or fewer in one random run",
            mend=f"Give --depth {max(MOST // len(depth), 1)}, or a measure with a cutoff.",
        )
    grade = _grade(plan, judgments)
    draws = int(np.clip(DOCUMENTS // max(int(shown.sum()), 1), FEWEST, DRAWS))
    rng = np.random.default_rng(bench.seed)
    mean, means = nulls.random_draws(measure, judgments, pool.size, depth, pool.inside, grade, draws, rng)
    exact = plan.spec is not None and plan.spec.floor is not None
    if plan.spec is not None and exact:
        mean = by_spec(plan.spec, measure, judgments, pool, depth)
    # Set measures of the whole pool are the same in any order, up to the backend's rounding.
    sd = float(means.std(ddof=1)) if np.ptp(means) > ROUNDING else 0.0
    limit = np.minimum(pool.size, depth.max(initial=0))
    everyone = np.arange(judgments.n_queries, dtype=np.int64)
    ceiling = float(grade(orders.ideal_hits(measure, judgments, pool.inside, limit), everyone, limit).mean())
    se = 0.0 if exact else sd / draws**0.5
    return Floor(mean, float(mean.mean()), se, sd, "exact" if exact else "simulated", None, ceiling, means)


def scores(plan: Plan, entrants: list[Entrant]) -> list[float]:
    """The mean score of each run."""
    out = []
    for e in entrants:
        judgments = e.coded.judgments
        out.append(float(own_values(plan.measure, judgments, e.ranked.lists, _grade(plan, judgments)).mean()))
    return out


def _grade(plan: Plan, judgments: Judgments) -> Grade:
    return backend_grade(plan.measure, judgments, plan.backend, plan.traits)


def check1(
    bench: Bench, floor: Floor, measured: float, seeds: int, alpha: float, candidates: Mapping[str, int],
    rounding: float,
) -> dict[str, Any]:  # fmt: skip
    """Check 1 from simulated noise runs. What depends on a formula in N, the implied N and the candidates, is not
    told. Raises OptionError for a number outside [0, 1] and where candidates are given."""
    if not 0.0 <= measured <= 1.0:
        raise OptionError(f"the measured noise is {measured!r}", legal="a number from 0 to 1")
    if candidates:
        raise OptionError(
            "pool sizes cannot be told apart by a measure without a formula", where="--candidates",
            mend="Leave them out, or use nDCG, RR, AP and the like.",
        )  # fmt: skip
    means = _means(bench, floor, seeds)
    above, below = (
        (1 + int(hit.sum())) / (1 + len(means)) for hit in (means >= measured - rounding, means <= measured + rounding)
    )
    p = min(2 * min(above, below), 1.0)
    bar, typical = float(np.quantile(means, 1 - alpha / 2)), float(np.quantile(means, 0.1))
    ratio = bar / typical if typical > 0 else None
    return {
        "expected": floor.mean, "sd": floor.sd / seeds**0.5, "measured": measured, "seeds": seeds,
        "ratio": measured / floor.mean if floor.mean > 0 else None, "ci": None, "p": p, "alpha": alpha,
        "detectable_ratio": ratio if ratio is not None and ratio * floor.mean <= floor.ceiling else None,
        "verdict": "pass" if p > alpha else "above" if above < below else "below",
        "implied_n": None, "implied_n_ci": None, "candidates": [], "method": "simulated",
    }  # fmt: skip


def _means(bench: Bench, floor: Floor, seeds: int) -> Floats:
    """Means of `seeds` noise runs, drawn from the simulated ones, around the floor and as uncertain as it is."""
    draws = np.zeros(1) if floor.draws is None else floor.draws
    rng = np.random.default_rng(bench.seed)
    means = rng.choice(draws, (MEANS, seeds)).mean(axis=1) + (floor.mean - draws.mean())
    return np.asarray(means + (rng.normal(0.0, floor.se, MEANS) if floor.se > 0 else 0.0))
