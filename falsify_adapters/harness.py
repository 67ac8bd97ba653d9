"""Checking the harness itself: random runs over the user's ids, through mapping, ranking and backend, have to score
what the closed form says. Where they do not, what is off is named: ranking, units, gold or N."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import Generator

from falsify_adapters.core import noise
from falsify_adapters.core.gate import kernel_grade, own_values
from falsify_adapters.core.lattice import ROUND_OFF
from falsify_adapters.errors import OptionError
from falsify_adapters.grading import backend_grade
from falsify_adapters.harness_ids import Urn, chunk_counts, faults, holds_queries
from falsify_adapters.model import Floats, Ints, Lists, Run, Source
from falsify_adapters.noise_checks import MEANS, Bench, Floor, floor_of
from falsify_adapters.ranking import Coded, no_run, rank

if TYPE_CHECKING:
    from falsify_adapters.grading import Traits
    from falsify_adapters.measures import Measure
    from falsify_adapters.model import Backend

DEPTH = 1000  # ids retrieved per query, where nothing else is said
MOST = 10_000_000  # ids in one simulated run: about 2 GB and ten seconds
NAME = "<simulated run>"


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Simulated runs, ranked. depth: ids retrieved per query; bench: what the floor is computed for, at that depth;
    lists: one of each run; faults: what is wrong with the lists themselves, as sentences; drop_self: as for `rank`."""

    coded: Coded
    urn: Urn
    bench: Bench
    depth: int
    lists: tuple[Lists, ...]
    faults: tuple[str, ...]
    drop_self: bool = False


def simulate(
    coded: Coded,
    urn: Urn,
    bench: Bench,
    *,
    runs: int,
    depth: int | None = None,
    max_docs: int | None = None,
    drop_self: bool = False,
    say: Callable[[str, int, int], None] = lambda *_: None,
) -> Trial:
    """`runs` random runs: for each query `depth` ids (1000, or all where there are fewer), drawn uniformly without
    replacement, with random scores, ranked as any run is. The seed is the bench's.

    max_docs: at most so many documents a query are evaluated. What a run costs is its ids, however large the pool is.
    Raises OptionError where a run would hold more than MOST ids, and for max_docs where ids are chunks.
    """
    if max_docs is not None and urn.units is not None:
        raise OptionError(
            "lists of so many documents are cut after chunks were mapped, and simulated lists are drawn in chunks",
            where="-M", legal="--depth K, which counts chunks", mend="Leave -M out.",
        )  # fmt: skip
    largest = int(urn.size.max(initial=1))
    depth = min(DEPTH if depth is None else depth, max_docs or largest, largest)
    at = _at_depth(bench, depth)
    rng = np.random.default_rng(np.random.SeedSequence(bench.seed).spawn(1)[0])
    judged = np.flatnonzero(urn.docs.is_in(coded.docs.implode()).to_numpy())
    # One more is drawn where a query's own document will be dropped, so that `depth` are left.
    extra = int(drop_self and urn.units is None)
    drawn = np.minimum(depth + extra, urn.size)
    _affordable(drawn)
    wanted = np.minimum(depth, urn.size - extra * holds_queries(urn, coded))
    lists: list[Lists] = []
    short = 0
    for n in range(runs):
        say("simulating", n, runs)
        run, rows = _run(coded, urn, drawn, rng)
        if np.isin(rows, judged).any():
            ranked = rank(run, coded, max_docs=depth if extra else None, drop_self=drop_self, units=urn.units)
            short += int((ranked.retrieved != wanted).sum())
            lists.append(ranked.lists)
        else:  # ranking refuses a run in which nothing is judged; here it is chance
            lists.append(replace(no_run(coded).lists, depth=wanted))
    say("simulating", runs, runs)
    wrong = f"ranking: {short} lists of {runs * len(urn.size)} are not as long as what was drawn for them."
    return Trial(coded, urn, at, depth, tuple(lists), (wrong,) if short else (), drop_self)


def _affordable(drawn: Ints) -> None:
    total = int(drawn.sum())
    if total <= MOST:
        return
    cures = [f"--depth {MOST // len(drawn)}"] if len(drawn) <= MOST else []
    cures += ["fewer queries (--queries-file)"] if len(drawn) > 1 else []
    raise OptionError(
        f"lists of {int(drawn.max())} ids a query make {total} ids in one simulated run",
        where="--simulate", legal=f"{MOST} ids or fewer",
        mend=f"Give {' or '.join(cures)}. The size of the pool costs nothing.",
    )  # fmt: skip


def _at_depth(bench: Bench, depth: int) -> Bench:
    chunks = bench.chunks
    if chunks is not None:
        chunks = replace(chunks, depth=depth if depth < chunks.chunks.n_chunks else None)
    return replace(bench, depth=np.full(bench.judgments.n_queries, depth, np.int64), chunks=chunks)


def _run(coded: Coded, urn: Urn, drawn: Ints, rng: Generator) -> tuple[Run, Ints]:
    """One run of `drawn` ids per query, in no order, with scores; and which rows of the urn they are."""
    parts = [
        first + rng.choice(n, k, replace=False, shuffle=False)
        for first, n, k in zip(urn.start.tolist(), urn.size.tolist(), drawn.tolist(), strict=True)
    ]
    rows = np.concatenate(parts)
    # Whole numbers: ranked as 32-bit floats they have no ties.
    scores = np.concatenate([1.0 + rng.permutation(k) for k in drawn.tolist()])
    query = np.repeat(np.arange(len(drawn), dtype=np.int32), drawn)
    return Run(NAME, coded.judgments.queries, query, urn.take(rows), scores, None, Source(NAME)), rows


def harness(measure: Measure, backend: Backend, traits: Traits, trial: Trial, alpha: float = 0.01) -> dict[str, Any]:
    """Simulated runs against the floor, as plain data.

    score: their mean through the backend; kernel: through the kernel; expected: the floor at the depth of the runs;
    sd: of the mean of so many runs; p: two-sided, twice the smaller tail; law: what p comes from, that of the mean
    ("exact", "grid", "drawn") or simulated noise runs ("simulated", where chunks are drawn). verdict: "differs" where
    p <= alpha or where something is wrong that needs no test; why: sentences that begin with ranking, units, gold or
    N; with a pass, what should be known. Raises BackendError as grading does.
    """
    bench, judgments = trial.bench, trial.coded.judgments
    floor = floor_of(measure, bench)
    through, kernel = backend_grade(measure, judgments, backend, traits), kernel_grade(measure, judgments)
    theirs = np.array([own_values(measure, judgments, lists, through) for lists in trial.lists])
    mine = np.array([own_values(measure, judgments, lists, kernel) for lists in trial.lists])
    score, tolerance = float(theirs.mean()), max(backend.tolerance(measure), 1e-9)
    p, sd, law = _test(measure, bench, floor, score, len(theirs), tolerance)
    wrong, known = faults(measure, trial.urn, trial.coded, bench, drop_self=trial.drop_self)
    wrong = [*trial.faults, *_backend(measure, backend, judgments.queries, theirs, mine, floor, tolerance), *wrong]
    if p <= alpha and not wrong:
        wrong = _unexplained(trial, alpha)
    return {
        "runs": len(theirs), "depth": trial.depth, "ids": "documents" if trial.urn.units is None else "chunks",
        "backend": backend.name, "score": score, "kernel": float(mine.mean()), "expected": floor.mean, "sd": sd, "p": p,
        "law": law, "verdict": "differs" if wrong else "pass", "why": [*wrong, *known],
    }  # fmt: skip


def _test(
    measure: Measure, bench: Bench, floor: Floor, score: float, runs: int, tolerance: float
) -> tuple[float, float, str]:
    """p, the standard deviation of the mean of so many runs, and which law both come from."""
    rng = np.random.default_rng(bench.seed)
    if floor.draws is not None:
        means = rng.choice(floor.draws, (MEANS, runs)).mean(axis=1)
        if floor.method == "simulated":  # the floor is a mean of draws itself
            means += rng.normal(0.0, floor.sd / np.sqrt(len(floor.draws)), MEANS)
        means += floor.mean - floor.draws.mean()
        above, below = (
            (1 + int(s.sum())) / (1 + MEANS) for s in (means >= score - tolerance, means <= score + tolerance)
        )
        return min(2 * min(above, below), 1.0), floor.sd / runs**0.5, "simulated"
    if not floor.per_query.any():  # nothing to be found: any score is one too many
        return (1.0 if score <= tolerance else 2 * ROUND_OFF), 0.0, "exact"
    depth = np.minimum(bench.depth, bench.pool.size)
    law = noise.null_distribution(measure, bench.judgments, bench.pool.size, depth, bench.pool.inside, runs, rng)
    tail = min(law.cdf(score + tolerance), law.sf(score - tolerance))
    return min(max(2 * tail, 2 * ROUND_OFF), 1.0), law.sd, law.method


def _backend(
    measure: Measure, backend: Backend, queries: Iterable[str], theirs: Floats, mine: Floats, floor: Floor,
    tolerance: float,
) -> list[str]:  # fmt: skip
    off = np.abs(theirs - mine)
    if off.max(initial=0.0) <= tolerance:
        return []
    run, query = np.unravel_index(int(np.argmax(off)), off.shape)
    return [
        f"ranking: {backend.name} gives {theirs[run, query]:.6f} for {measure} on query {list(queries)[query]!r} of "
        f"simulated run {run + 1}, and the kernel {mine[run, query]:.6f} on the same list; "
        f"{int((off > tolerance).sum())} of {off.size} lists differ. On average the kernel gives {mine.mean():.6f}, "
        f"the closed form {floor.mean:.6f}."
    ]


def _unexplained(trial: Trial, alpha: float) -> list[str]:
    if trial.urn.units is not None and trial.bench.chunks is None:
        low, high = chunk_counts(trial.urn)
        if high > low:
            return [
                f"units: documents have {low} to {high} chunks, and long ones come first more often among random "
                "chunks; the floor draws documents evenly. Give the chunk ids with --chunks."
            ]
    return [
        "ranking: N, units, gold and the backend fit, and the lists still find more or less than chance would. At "
        f"level {alpha:g} that happens to one sound harness in {1 / alpha:.0f}: try another --seed and more runs."
    ]
