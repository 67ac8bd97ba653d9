"""Grading through a backend: hits in, values out. The only place that talks to backends.

A backend sees our own short codes as ids ("1" is the document at rank 1), strictly decreasing whole numbers as
scores, and one measure per call; it never has a tie to break, an id to misread or a list to fill.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from falsify_adapters.core.cross import Grade, gold_level, lowest_grade, own_hits
from falsify_adapters.core.gate import ideal_values, kernel_grade, own_values
from falsify_adapters.core.kernels import Hits
from falsify_adapters.errors import BackendError, FalsifyError, MeasureError
from falsify_adapters.measures import KERNEL_FAMILIES, sight
from falsify_adapters.model import Flag, Floats, Ints, Judgments, Lists, Pool

if TYPE_CHECKING:
    from falsify_adapters.measures import Measure
    from falsify_adapters.model import Backend

VERIFY = 1000  # queries on which the kernel is held against the backend, at most
FEWEST = 20  # draws, below which a standard error says little
CHUNK = 300_000  # documents handed to a backend in one call, about
DOCUMENTS = 400_000  # handed to a backend for one simulated null, about


@dataclass(frozen=True, slots=True)
class Traits:
    """What may be left out when a measure is graded: zero: it is 0 without a retrieved gold document; whole: it looks
    at the whole list, whatever is judged in it."""

    zero: bool
    whole: bool


@dataclass(frozen=True, slots=True, eq=False)
class Graded:
    """A run's own values and how its nulls are to be graded.

    own, ideal: (Q,) values of the run and of the best lists; source: "backend" where they are the backend's own,
    "kernel" where the kernel was held against it on `verified` queries; exact: whether the kernel, and with it the
    closed floor, is the measure of this backend; n_draws: None, or fewer draws where the backend grades them.
    """

    own: Floats
    ideal: Floats
    grade: Grade
    source: str
    verified: int
    exact: bool
    n_draws: int | None
    flags: tuple[Flag, ...]


def grade_run(
    measure: Measure, judgments: Judgments, lists: Lists, pool: Pool, backend: Backend, traits: Traits, n_boot: int
) -> Graded:
    """Grade a run through the backend, and hold the kernel against it where there is one.

    Where ties are averaged the kernel is held against the backend on the lists as they are ranked, and then grades.
    Raises BackendError where a value is missing, not a number or outside [0, 1]; MeasureError where ties are to be
    averaged and the measure is not the kernel's.
    """
    if lists.averaged:
        plain = grade_run(measure, judgments, replace(lists, averaged=False), pool, backend, traits, n_boot)
        if not plain.exact:
            raise _not_averaged(measure, backend, plain.flags)
        kernel = kernel_grade(measure, judgments)
        own = own_values(measure, judgments, lists, kernel)
        return replace(plain, own=own, grade=kernel, source="kernel")
    through = backend_grade(measure, judgments, backend, traits)
    n = judgments.n_queries
    if not measure.has_kernel:
        return _by_backend(measure, judgments, lists, pool, through, n_boot, ())
    kernel = kernel_grade(measure, judgments)
    mine = own_values(measure, judgments, lists, kernel)
    some = np.unique(np.linspace(0, n - 1, min(n, VERIFY)).round().astype(np.int64))
    theirs = _some_own(measure, judgments, lists, through, some)
    off = np.abs(theirs - mine[some])
    if off.max(initial=0.0) > backend.tolerance(measure):
        worst = int(some[np.argmax(off)])
        flag = Flag(
            "kernel_differs",
            f"{backend.name} gives {theirs[np.argmax(off)]:.6f} for {measure} on query {judgments.queries[worst]!r}, "
            f"the kernel {mine[worst]:.6f}: the nulls were graded by {backend.name} itself.",
        )
        return _by_backend(measure, judgments, lists, pool, through, n_boot, (flag,))
    if len(some) < n:
        return Graded(
            mine, ideal_values(measure, judgments, lists, pool, kernel), kernel, "kernel", len(some), True, None, ()
        )
    ideal = ideal_values(measure, judgments, lists, pool, through)
    return Graded(theirs, ideal, kernel, "backend", n, True, None, ())


def _not_averaged(measure: Measure, backend: Backend, flags: tuple[Flag, ...]) -> MeasureError:
    why = flags[0].message.partition(":")[0] if flags else f"{measure} has no kernel"
    return MeasureError(
        f"{measure} of {backend.name} cannot be averaged over the order of ties: {why}",
        legal=", ".join(KERNEL_FAMILIES) + " where the kernel agrees with the backend",
        mend="Use --ties trec or input, or --backend builtin.",
    )


def _by_backend(
    measure: Measure, judgments: Judgments, lists: Lists, pool: Pool, grade: Grade, n_boot: int, flags: tuple[Flag, ...]
) -> Graded:
    own = own_values(measure, judgments, lists, grade)
    ideal = ideal_values(measure, judgments, lists, pool, grade)
    n = judgments.n_queries
    each = int(lists.depth.sum()) + len(judgments.doc)  # documents that grading every query once can take
    draws = int(np.clip(DOCUMENTS // max(each, 1), FEWEST, n_boot))
    return Graded(own, ideal, grade, "backend", n, False, draws, flags)


def _some_own(measure: Measure, judgments: Judgments, lists: Lists, grade: Grade, some: Ints) -> Floats:
    hits, _ = own_hits(measure, judgments, lists)
    at = np.minimum(np.searchsorted(some, hits.pair), len(some) - 1)
    keep = some[at] == hits.pair
    return grade(Hits(at[keep], hits.rank[keep], hits.grade[keep]), some, lists.depth[some])


def backend_grade(measure: Measure, judgments: Judgments, backend: Backend, traits: Traits) -> Grade:
    """Grade hits by asking the backend, one pseudo-query per pair."""
    low, level, seen_to = lowest_grade(measure), gold_level(measure), sight(measure)
    grades = [judgments.grade[a:b] for a, b in zip(judgments.start[:-1], judgments.start[1:], strict=True)]
    # A kernel family cannot tell a document judged below its level from an unjudged one: such rows are left out.
    seen = [g[g >= low].tolist() for g in grades]
    gold = [any(g >= level for g in s) for s in seen]
    code = _Codes()

    def grade(hits: Hits, owner: Ints, length: Ints) -> Floats:
        keep = hits.grade >= low
        if seen_to is not None:
            keep &= hits.rank <= seen_to
        pair, rank, value = hits.pair[keep], hits.rank[keep], hits.grade[keep]
        begin = np.searchsorted(pair, np.arange(len(owner) + 1))
        out = np.zeros(len(owner))
        ask: list[int] = []
        qrels: dict[str, dict[str, int]] = {}
        run: dict[str, dict[str, float]] = {}
        size = 0
        for p, q in enumerate(owner.tolist()):
            mine = slice(begin[p], begin[p + 1])
            places, values = rank[mine].tolist(), value[mine].tolist()
            if not gold[q] or not length[p] or (traits.zero and max(values, default=level - 1) < level):
                continue  # 0 by definition
            n = int(length[p])
            if seen_to is not None:
                n = min(n, seen_to)
            if not traits.whole and traits.zero:
                n = min(n, places[-1])
            judged = dict(zip(code.of(places), values, strict=True))
            left = Counter(seen[q])
            left.subtract(values)
            rest = [g for g, times in left.items() for _ in range(times)]
            judged |= zip(code.up_to(n + len(rest))[n:], rest, strict=True)
            name = str(len(ask))
            qrels[name], run[name] = judged, code.ranked(n)
            ask.append(p)
            size += n + len(judged)
            if size > CHUNK:
                out[ask] = _scores(measure, backend, qrels, run)
                ask, qrels, run, size = [], {}, {}, 0
        if ask:
            out[ask] = _scores(measure, backend, qrels, run)
        return out

    return grade


class _Codes:
    """Ids and scores of lists of any length, made once: "1", "2", ... with n, n - 1, ... 1."""

    def __init__(self) -> None:
        self._ids: list[str] = []

    def up_to(self, n: int) -> list[str]:
        if len(self._ids) < n:
            self._ids += map(str, range(len(self._ids) + 1, n + 1))
        return self._ids[:n]

    def of(self, ranks: list[int]) -> list[str]:
        ids = self.up_to(ranks[-1] if ranks else 0)
        return [ids[r - 1] for r in ranks]

    def ranked(self, n: int) -> dict[str, float]:
        return dict(zip(self.up_to(n), np.arange(n, 0, -1, dtype=np.float64).tolist(), strict=True))


def _scores(
    measure: Measure, backend: Backend, qrels: dict[str, dict[str, int]], run: dict[str, dict[str, float]]
) -> list[float]:
    try:
        values = [float(v) for v in backend.score(measure, qrels, run)]
    except FalsifyError:
        raise
    except Exception as error:  # a stranger's code may raise anything: say whose it is, and keep the cause
        raise BackendError(f"{backend.name} stopped at {measure}: {type(error).__name__}: {error}") from error
    if len(values) != len(qrels):
        raise BackendError(f"{backend.name} gave {len(values)} values of {measure} for {len(qrels)} queries")
    for value, judged in zip(values, qrels.values(), strict=True):
        if math.isnan(value):
            raise BackendError(
                f"{backend.name} gives no number (NaN) for {measure} on a query with {len(judged)} judgments, grades "
                f"{sorted(set(judged.values()))}",
                mend="Another backend may define the measure there: try --backend builtin or ir_measures.",
            )
        if not -1e-6 <= value <= 1 + 1e-6:
            raise BackendError(
                f"{backend.name} gives {value} for {measure}, and the gate is for measures in [0, 1]",
                legal="measures of quality with values from 0 to 1",
            )
    return values
