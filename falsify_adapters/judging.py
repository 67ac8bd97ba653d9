"""Measures of one run, judged in this process or in others: the same numbers either way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from falsify_adapters.core import floors
from falsify_adapters.core.case import Case, ExtraScores, GateResult, Settings
from falsify_adapters.core.chunk_null import ChunkPool
from falsify_adapters.core.cross import CrossScores, Grade
from falsify_adapters.core.gate import examine
from falsify_adapters.core.nulls import NullScores
from falsify_adapters.errors import FalsifyError, MeasureError, OptionError, PluginError
from falsify_adapters.grading import Traits, grade_run
from falsify_adapters.measures import Measure, looks_to, zero_without_gold
from falsify_adapters.model import Flag, Floats, Ints

if TYPE_CHECKING:
    from falsify_adapters.model import Backend, Judgments, Lists, Pool
    from falsify_adapters.offers import ExtraNull, MeasureSpec
    from falsify_adapters.registry import Registry


@dataclass(frozen=True, slots=True)
class Plan:
    """A measure with who computes it and what else is known of it."""

    measure: Measure
    backend: Backend
    traits: Traits
    spec: MeasureSpec | None
    extra: tuple[ExtraNull, ...]


@dataclass(frozen=True, slots=True)
class Task:
    """Measures of one run, ready to be judged in this process or another."""

    plans: tuple[Plan, ...]
    judgments: Judgments
    lists: Lists
    pool: Pool
    settings: Settings
    chunks: ChunkPool | None = None
    clusters: Ints | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A result, who computed its score, and whether all of it."""

    result: GateResult
    backend: str
    source: str
    verified: int
    flags: tuple[Flag, ...]


def plan(registry: Registry, backend: str, measure: Measure, extra_nulls: Sequence[str]) -> Plan:
    refuse_top1(measure)
    chosen = registry.backend_for(backend, measure)
    spec = None
    if not measure.has_kernel and measure.family in registry.names("measures"):
        spec = registry.resolve("measures", measure.family)
        if not spec.unit_range:
            raise MeasureError(
                f"{measure} has values outside [0, 1], so it has no gate", legal="measures of quality in [0, 1]"
            )
    if spec is None:
        traits = Traits(zero_without_gold(measure), looks_to(measure) == "whole list")
    else:
        traits = Traits(spec.family.zero_without_gold, spec.family.tail == "whole list")
    extra = tuple(registry.resolve("nulls", name) for name in extra_nulls)
    return Plan(measure, chosen, traits, spec, extra)


def refuse_top1(measure: Measure) -> None:
    """The paired measure is made from a graded one, with gold of its own: it cannot be asked for by itself."""
    if measure.top1:
        raise MeasureError(
            f"{measure} stands beside a graded measure and is no measure by itself",
            legal=f"nDCG@{measure.cutoff or 10}, which brings it along, or {measure.family}@{measure.cutoff or 10}",
        )


def answer(task: Task) -> list[Answer]:
    judgments, lists, pool, n_boot = task.judgments, task.lists, task.pool, task.settings.n_boot
    graded = [grade_run(p.measure, judgments, lists, pool, p.backend, p.traits, n_boot) for p in task.plans]
    cases = [
        Case(
            p.measure, judgments, lists, pool, g.grade, g.own, g.ideal, _floor(p, task, g.exact), g.n_draws,
            p.traits.zero, {null.name: _extra(null, p.measure, task, g.grade) for null in p.extra}, task.chunks,
            max(1e-12, p.backend.tolerance(p.measure)), task.clusters,
        )
        for p, g in zip(task.plans, graded, strict=True)
    ]  # fmt: skip
    results = examine(cases, task.settings)
    return [
        Answer(r, p.backend.name, g.source, g.verified, g.flags)
        for r, p, g in zip(results, task.plans, graded, strict=True)
    ]


def _floor(plan: Plan, task: Task, exact: bool) -> Floats | None:
    depth, pool = task.lists.depth, task.pool
    if exact:
        return floors.expectation(plan.measure, task.judgments, pool.size, depth, pool.inside)
    if plan.spec is not None and plan.spec.floor is not None:
        from falsify_adapters.adapters.spec_backend import floors as by_spec

        return by_spec(plan.spec, plan.measure, task.judgments, pool, depth)
    return None


def _extra(null: ExtraNull, measure: Measure, task: Task, grade: Grade) -> ExtraScores:
    from falsify_adapters.offers import NullInput

    def scores(cross: CrossScores, n_draws: int, rng: np.random.Generator) -> NullScores:
        given = NullInput(measure, task.judgments, task.lists, task.pool, cross, grade)
        try:
            found = null.scores(given, n_draws, rng)
        except FalsifyError:
            raise
        except Exception as error:  # a stranger's code may raise anything, and its name is what helps
            raise PluginError(f"null {null.name} fails on {measure}: {type(error).__name__}: {error}") from error
        fits = np.shape(found.per_query) == (task.judgments.n_queries,) and np.isfinite(found.per_query).all()
        if not (fits and 0.0 <= found.mean <= 1.0 and len(found.draws) == n_draws):
            raise PluginError(
                f"null {null.name} gives no usable scores for {measure}",
                legal=f"{task.judgments.n_queries} finite expectations, a mean in [0, 1] and {n_draws} draws",
            )
        return found

    return scores


def groups(plans: Sequence[Plan], parts: int) -> list[tuple[Plan, ...]]:
    """The measures of a run, in as many groups as there are processes for one run."""
    parts = max(1, min(parts, len(plans)))
    edges = [len(plans) * n // parts for n in range(parts + 1)]
    return [tuple(plans[a:b]) for a, b in pairwise(edges)]


def answers(tasks: Sequence[Task], jobs: int) -> Iterable[list[Answer]]:
    if jobs == 1 or len(tasks) == 1:
        yield from map(answer, tasks)
        return
    import multiprocessing
    import pickle
    from concurrent.futures import ProcessPoolExecutor

    try:
        pickle.dumps(tasks[0].plans)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise OptionError(
            f"a measure or null cannot be sent to another process: {error}",
            where="--jobs",
            legal="1, or plugins whose functions are module-level names",
        ) from None
    # Spawned, not forked: polars and BLAS hold threads, and a forked thread pool deadlocks.
    with ProcessPoolExecutor(min(jobs, len(tasks)), multiprocessing.get_context("spawn")) as workers:
        yield from workers.map(answer, tasks)
