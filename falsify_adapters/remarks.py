"""What reading and ranking say of a run, as flags beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from falsify_adapters.core.findings import gold_counts
from falsify_adapters.measures import Measure
from falsify_adapters.model import Flag, Pool
from falsify_adapters.pool import Entrant
from falsify_adapters.ranking_notes import SHOWN


def about_queries(measure: Measure, entrant: Entrant, pool: Pool) -> list[Flag]:
    """Queries that are missing, ignored or without gold; negative grades; short lists."""
    judgments, ranked = entrant.coded.judgments, entrant.ranked
    lists, n, flags = ranked.lists, judgments.n_queries, []
    if ranked.missing:
        flags.append(
            Flag(
                "queries_missing",
                f"{len(ranked.missing)} of {n} judged queries are not in the run and score 0: {_few(ranked.missing)}."
                + (
                    " If the run was never meant to answer them, use --queries both."
                    if len(ranked.missing) * 5 > n
                    else ""
                ),
            )
        )
    if ranked.ignored:
        flags.append(
            Flag(
                "queries_ignored",
                f"{len(ranked.ignored)} queries of the run have no judgments and are left out: {_few(ranked.ignored)}.",
            )
        )
    without = [q for q, g in zip(judgments.queries, gold_counts(measure, judgments), strict=True) if not g]
    if without:
        flags.append(
            Flag(
                "queries_without_gold",
                f"{len(without)} of {n} queries have no relevant document for {measure} and score 0 under system and "
                f"nulls alike: {_few(without)}.",
            )
        )
    negative = int((judgments.grade < 0).sum())
    if negative:
        flags.append(
            Flag("negative_grades", f"{negative} judgments have negative grades: they gain 0 and count as unjudged.")
        )
    k = measure.cutoff
    short = 0 if k is None else int(((lists.depth > 0) & (lists.depth < np.minimum(k, pool.size))).sum())
    if short:
        flags.append(Flag("short_lists", f"{short} of {n} lists hold fewer than {k} documents."))
    return flags


def _few(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:SHOWN])
    return f"{shown} and {len(ids) - SHOWN} more" if len(ids) > SHOWN else shown


def identical_runs(entrants: Sequence[Entrant]) -> list[list[Flag]]:
    """Runs with the same lists are one witness, whatever their names."""
    keys: dict[tuple[object, ...], list[int]] = {}
    if len(entrants) > 1:
        for n, e in enumerate(entrants):
            lists = e.ranked.lists
            key = (
                e.coded.judgments.queries, lists.depth.tobytes(), lists.rank.tobytes(), lists.doc.tobytes(),
                e.ranked.docs.hash().to_numpy().tobytes(),
            )  # fmt: skip
            keys.setdefault(tuple(map(hash, key)), []).append(n)
    flags: list[list[Flag]] = [[] for _ in entrants]
    for same in keys.values():
        for n in same if len(same) > 1 else ():
            others = ", ".join(entrants[m].path for m in same if m != n)
            flags[n].append(
                Flag("identical_runs", f"The ranked lists are those of {others}: one witness, not several.")
            )
    return flags
