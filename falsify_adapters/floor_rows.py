"""What `floor` says of one measure: the floor, the checks that were asked for, and what a reader has to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from falsify_adapters import floor_backend, noise_checks
from falsify_adapters.core import noise
from falsify_adapters.core.findings import gold_counts
from falsify_adapters.errors import InputError, OptionError
from falsify_adapters.intake import Intake, Taken
from falsify_adapters.judging import Plan
from falsify_adapters.measures import Measure
from falsify_adapters.model import Flag, Ints
from falsify_adapters.noise_checks import Bench, Floor
from falsify_adapters.pool import Entrant

WHOLE = np.iinfo(np.int64).max // 4  # a depth that no pool reaches
UNEVEN = 1.5  # noise lists of one query that differ by more than this factor have no common floor


@dataclass(frozen=True, slots=True)
class Limits:
    """Check 1's level, what Check 2 asks for at least, and whether the harness is checked."""

    alpha: float
    signal: float
    headroom: float
    harness: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Benches:
    """What random lists are drawn for: as deep as the noise runs, and as deep as the system's.

    noise: without noise runs as deep as the system's run; without any run `depth` and at most `max_docs`, or else the
    whole pool.
    system: None where there is no run of a system. n_noise: how many of the runs are noise, the first ones.
    """

    noise: Bench
    system: Bench | None
    n_noise: int

    @classmethod
    def of(
        cls, taken: Taken, n_noise: int, *, with_run: bool, depth: int | None, max_docs: int | None, seed: int
    ) -> Benches:
        """Raises InputError where noise runs answer different queries."""
        system = _own(taken, len(taken.entrants) - 1, seed) if with_run else None
        if n_noise:
            base = _own(taken, 0, seed)
            depths = np.stack([e.ranked.lists.depth for e in taken.entrants[:n_noise]])
            _same_queries(taken.entrants[:n_noise], depths > 0)
            return cls(replace(base, depth=np.rint(depths.mean(axis=0)).astype(np.int64)), system, n_noise)
        if system is not None:
            return cls(system, system, 0)
        base = _own(taken, 0, seed)
        chunks = None if base.chunks is None else replace(base.chunks, depth=depth)
        deep = np.full(len(base.depth), min(depth or WHOLE, max_docs or WHOLE), np.int64)
        return cls(replace(base, depth=deep, chunks=chunks), None, 0)


def _own(taken: Taken, n: int, seed: int) -> Bench:
    """As deep as the lists of the n-th run."""
    entrant = taken.entrants[n]
    return Bench(entrant.coded.judgments, taken.pools[n], entrant.ranked.lists.depth, taken.chunks[n], seed)


def _same_queries(runs: Sequence[Entrant], answered: Any) -> None:
    odd = np.flatnonzero((answered != answered[0]).any(axis=1))
    if not len(odd):
        return
    a, b = runs[0], runs[int(odd[0])]
    only = np.flatnonzero(answered[0] != answered[odd[0]])
    names = b.coded.judgments.queries
    raise InputError(
        f"noise runs answer different queries: {a.path} and {b.path} differ in {len(only)} of {len(names)}, "
        f"such as {names[only[0]]!r}",
        where="--noise",
        legal="noise runs that answer the same queries, so that they have one floor",
        mend="Run the noise again for those, or name the queries that all of them answer with --queries-file.",
    )


def row(
    measure: Measure,
    plan: Plan | None,
    taken: Taken,
    how: Intake,
    benches: Benches,
    typed: tuple[float, float] | None,
    held: tuple[float, float] | None,
    seeds: int,
    candidates: Mapping[str, int],
    limits: Limits,
) -> dict[str, Any]:
    """One element of "results". plan: who computes a measure without a kernel, else None; typed: measured noise and
    half a unit of its last digit; held: the system's score.

    Raises InputError where no gold document can be reached, OptionError where noise runs have no common depth.
    """
    bench, n_noise = benches.noise, benches.n_noise
    gold = _gold(measure, taken, bench, anywhere=limits.harness)
    _even_depths(measure, taken, bench, n_noise)
    found = _floor(measure, plan, bench)
    runs = _scores(measure, plan, taken.entrants[:n_noise])
    value, rounding = (float(np.mean(runs)), 0.0) if runs else typed or (None, 0.0)
    flags = _flags(taken, how, bench, gold)
    one = two = None
    if value is not None:
        asked = (bench, found, value, len(runs) or seeds, limits.alpha, candidates, rounding)
        one = noise_checks.check1(measure, *asked) if plan is None else floor_backend.check1(*asked)
        one |= {"per_run": runs or None, "rounding": rounding}
    real, own, under = held[0] if held else None, found, value
    if benches.system is not None:
        real = _scores(measure, plan, taken.entrants[n_noise:])[0]
        own, under, said = _system_floor(measure, plan, benches, found, value)
        flags += said
    if real is not None or value is not None:
        two = asdict(
            noise.check2(
                real, under, own.mean, own.ceiling, min_signal=limits.signal, min_headroom=limits.headroom
            )
        ) | {"floor": own.mean, "noise": under}  # fmt: skip
    shared = None
    if n_noise:
        shared, why = noise_checks.overlap(measure, taken.entrants, bench, limits.alpha)
        flags += [] if why is None else [Flag("overlap_untested", why)]
    return _facts(measure, bench, found, gold) | {
        "check1": one, "check2": two, "noise_overlap": shared,
        "flags": [{"code": f.code, "message": f.message} for f in dict.fromkeys(flags)],
    }  # fmt: skip


def _floor(measure: Measure, plan: Plan | None, bench: Bench) -> Floor:
    return noise_checks.floor_of(measure, bench) if plan is None else floor_backend.floor_of(plan, bench)


def _scores(measure: Measure, plan: Plan | None, entrants: Sequence[Entrant]) -> list[float]:
    return noise_checks.scores(measure, entrants) if plan is None else floor_backend.scores(plan, list(entrants))


def _system_floor(
    measure: Measure, plan: Plan | None, benches: Benches, found: Floor, value: float | None
) -> tuple[Floor, float | None, list[Flag]]:
    """The floor at the depth of the system's lists, what noise would score there, and what to say of it.

    Noise of another depth is carried over by its ratio to the floor, which is what Check 1 judges.
    """
    system, bench = benches.system, benches.noise
    if system is None or system is bench or _alike(measure, system, bench):
        return found, value, []
    own = _floor(measure, plan, system)
    if value is None or own.mean == found.mean:
        return own, value, []
    there = min(value / found.mean * own.mean, own.ceiling) if found.mean > 0 else value
    deep, shallow = (int(np.minimum(b.depth, b.pool.size).max(initial=0)) for b in (system, bench))
    said = (
        f"The run's lists hold up to {deep} documents and those of the noise up to {shallow}: Check 2 takes the floor "
        f"at the run's own depth, {own.mean:.4g}, and the noise as many times above it as it was measured at its own."
    )
    return own, there, [Flag("depths_differ", said)]


def _alike(measure: Measure, a: Bench, b: Bench) -> bool:
    """Whether random lists of both are as deep, as far as the measure looks."""
    if a.chunks is not None and b.chunks is not None:
        return a.chunks.depth == b.chunks.depth and bool(((a.depth > 0) == (b.depth > 0)).all())
    return bool((_seen(measure, a, a.depth) == _seen(measure, b, b.depth)).all())


def _seen(measure: Measure, bench: Bench, depth: Ints) -> Ints:
    shown = np.minimum(depth, bench.pool.size)
    return shown if measure.cutoff is None else np.minimum(shown, measure.cutoff)


def _even_depths(measure: Measure, taken: Taken, bench: Bench, n_noise: int) -> None:
    if n_noise < 2:
        return
    depths = np.stack([_seen(measure, bench, e.ranked.lists.depth) for e in taken.entrants[:n_noise]])
    deepest, shallowest = depths.max(axis=0), depths.min(axis=0)
    bad = np.flatnonzero(deepest > UNEVEN * shallowest)
    if not len(bad):
        return
    q = int(bad[np.argmax(deepest[bad] / np.maximum(shallowest[bad], 1))])
    deep, shallow = (taken.entrants[int(i)] for i in (depths[:, q].argmax(), depths[:, q].argmin()))
    raise OptionError(
        f"noise runs are of different depths, which {measure} sees: for query {bench.judgments.queries[q]!r} "
        f"{deep.path} holds {int(deepest[q])} documents and {shallow.path} {int(shallowest[q])}",
        where="--noise",
        legal="noise runs of one depth, so that they have one floor",
        mend=f"Cut all of them: --depth {int(shallow.ranked.retrieved.max(initial=1))}.",
    )


@dataclass(frozen=True, slots=True)
class _Gold:
    total: int
    in_pool: int
    queries_without: int


def _gold(measure: Measure, taken: Taken, bench: Bench, *, anywhere: bool) -> _Gold:
    """How much gold there is, and how much of it lies in the pool. Raises InputError where it is none; `anywhere`: not
    where the pool has none, for a check of the harness says why."""
    judgments, inside = bench.judgments, bench.pool.inside
    lowest = 1 if measure.graded else measure.rel
    level = judgments.grade >= lowest
    total, here = int(level.sum()), int((level if inside is None else level & inside).sum())
    if not total:
        raise InputError(
            f"no document has a grade of {lowest} or more, so {measure} is 0 for any system",
            where=taken.qrels.source.path,
            legal=f"one relevant document or more (the highest grade is {int(judgments.grade.max(initial=0))})",
            mend="Lower the relevance level (-l), or give the qrels of this benchmark.",
        )
    if not here and not anywhere:
        raise InputError(
            f"none of the {total} gold documents of {taken.qrels.source.path} lies in the pool ({bench.pool.source}), "
            f"so {measure} is 0 for any system",
            where="--chunks" if bench.chunks is not None else "--pool",
            legal="a pool that holds what the qrels call relevant, with ids of the same kind",
            mend="Check that the ids are spelled alike, and that chunks are mapped to the documents of the qrels "
            "(--unit-sep).",
        )
    return _Gold(total, here, int((gold_counts(measure, judgments) == 0).sum()))


def _flags(taken: Taken, how: Intake, bench: Bench, gold: _Gold) -> list[Flag]:
    flags = [*taken.qrels.flags, *_of_runs(taken, how)]
    size = bench.pool.size
    if bench.pool.source == "observed":
        said = (
            f"N = {int(size.max(initial=0))} counts only documents seen in qrels and runs; the collection is larger, "
            "so the floor shown is too high. Give --pool N."
        )
        flags.append(Flag("pool_observed", said))
    if gold.in_pool < gold.total:
        lost = gold.total - gold.in_pool
        said = f"{lost} of {gold.total} gold documents lie outside the pool: no system can reach them."
        flags.append(Flag("gold_outside_pool", said))
    if how.units is not None and bench.chunks is None:
        said = (
            "Chunks are ranked and N counts documents alone: documents with many chunks come up more often, which "
            "this floor leaves out. Give --chunks FILE with all chunk ids."
        )
        flags.append(Flag("chunks_unknown", said))
    if how.drop_self and bench.chunks is not None:
        said = (
            "The floor over chunks counts each query's own document, which --drop-self takes out of the lists: it is "
            f"too low by about 1 part in {int(size.max(initial=1))}."
        )
        flags.append(Flag("self_in_chunks", said))
    short = int((bench.depth == 0).sum())
    if short and taken.facts[0].name:
        said = f"{short} of {len(size)} queries have no list: they score 0, and count 0 in the floor as well."
        flags.append(Flag("floor_without_lists", said))
    return flags


def _of_runs(taken: Taken, how: Intake) -> list[Flag]:
    """The flags of all runs; that chunks were mapped is said once."""
    flags = [flag for e in taken.entrants for flag in e.ranked.flags]
    if how.units is None or len(taken.entrants) < 2:
        return flags
    said = (
        f"The ids of {len(taken.entrants)} runs were mapped to documents by {how.units.name}; best chunk counts (MaxP)."
    )
    return [Flag("units_mapped", said), *(flag for flag in flags if flag.code != "units_mapped")]


def _facts(measure: Measure, bench: Bench, found: Floor, gold: _Gold) -> dict[str, Any]:
    size = bench.pool.size
    one = int(size[0]) if (size == size[0]).all() else None
    pool: dict[str, Any] = {"n": one, "source": bench.pool.source}
    pool |= {} if one is not None else {"n_min": int(size.min()), "n_max": int(size.max())}
    pool["n_chunks"] = None if bench.chunks is None else bench.chunks.chunks.n_chunks
    deepest = int(np.minimum(bench.depth, size).max(initial=0))
    return {
        "measure": str(measure), "pool": pool, "depth": None if (bench.depth >= size).all() else deepest,
        "expected": found.mean, "expected_se": found.se, "sd": found.sd, "method": found.method,
        "uniform": found.uniform, "ceiling": found.ceiling, "headroom": found.ceiling - found.mean,
        "gold": {"total": gold.total, "in_pool": gold.in_pool, "queries_without": gold.queries_without},
        "per_query": {"min": float(found.per_query.min()), "max": float(found.per_query.max())},
    }  # fmt: skip
