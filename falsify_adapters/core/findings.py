"""From the numbers of a gate to its verdict and its flags: a code for programs, a sentence for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import floor

import numpy as np

from falsify_adapters.core.bootstrap import Interval
from falsify_adapters.core.case import LABEL_NULLS, MIN_QUERIES, Case, GateResult, NullResult, Settings
from falsify_adapters.core.cross import gold_level, lowest_grade, own_hits, visible
from falsify_adapters.core.nulls import GoldSets
from falsify_adapters.measures import Measure
from falsify_adapters.model import Flag, Ints, Judgments

NO_ROOM = 1e-9  # less than this between floor and ceiling is none
ALIKE, MANY = 0.5, 0.1  # share of documents in common, and of queries, from which queries are taken for paraphrases
BELOW_CHANCE = 0.01  # one-sided level at which a score counts as below the floor


def conclude(
    result: GateResult, case: Case, settings: Settings, gold: GoldSets, *, same_lists: bool, low_tail: float
) -> GateResult:
    """The result with verdict, queries needed and flags."""
    judged = dict(result.nulls)
    toothless = {name for name in LABEL_NULLS if case.pool.per_query and judged[name].reach < settings.tau}
    no_signal = case.lists.all_tied and bool((case.lists.depth == case.pool.size).all())
    if no_signal:
        # One tie over the whole pool: the tie-averaged score is the floor, whatever the tie rule made of it.
        judged["C"] = replace(judged["C"], verdict="fail")
    nothing = not _any_judged(case)
    deciding = {name: null for name, null in judged.items() if name not in toothless}
    verdict = "FAIL" if nothing else _verdict(deciding)
    needed = queries_needed(deciding, case.judgments.n_queries, settings.tau) if verdict == "UNDER-NS" else None
    flags = [
        *_about_the_run(result, case, same_lists, no_signal, nothing, low_tail),
        *_about_ties(result, case, settings),
        *_about_room(result, judged, settings),
        *_about_nulls(judged, case, settings, gold, toothless),
        *_about_size(result, case, settings),
        *_about_clusters(case, gold),
    ]
    if result.paired is not None and result.paired.verdict != verdict:
        flags.append(
            Flag(
                "paired_disagrees",
                f"{result.measure} says {verdict}, recall of the single top-graded document "
                f"({result.paired.measure}, {result.paired.score:.4f}) says {result.paired.verdict}: the graded "
                "measure may live on low grades.",
            )
        )
    return replace(result, nulls=judged, verdict=verdict, queries_needed=needed, flags=tuple(flags))


def _verdict(judged: Mapping[str, NullResult]) -> str:
    verdicts = {null.verdict for null in judged.values()}
    return "FAIL" if "fail" in verdicts else "UNDER-NS" if "under-ns" in verdicts else "PASS"


def null_verdict(delta: float, ci: Interval | None, tau: float) -> str:
    """under-ns where the interval holds both 0 and tau (or there is none); else pass at tau or more, fail below."""
    if ci is None or (ci[0] <= 0.0 and ci[1] >= tau):
        return "under-ns"
    return "pass" if delta >= tau else "fail"


def queries_needed(judged: Mapping[str, NullResult], n: int, tau: float) -> int | None:
    """The fewest queries like these at which the widest undecided interval would no longer hold both 0 and tau, its
    arms shrinking as 1/sqrt(Q); None where no interval is undecided."""
    needed = 0
    for null in judged.values():
        if null.verdict != "under-ns" or null.ci is None:
            continue
        low, high = null.delta - null.ci[0], null.ci[1] - null.delta
        ways = [low / null.delta] if null.delta > 0 else []
        ways += [high / (tau - null.delta)] if null.delta < tau else []
        needed = max(needed, floor(n * min(ways) ** 2) + 1)
    return needed or None


def gold_counts(measure: Measure, judgments: Judgments) -> Ints:
    """(Q,) gold documents of each query at the measure's level."""
    rows = judgments.grade >= gold_level(measure)
    return np.bincount(judgments.query[rows], minlength=judgments.n_queries).astype(np.int64)


def _any_judged(case: Case) -> bool:
    if case.own.any():
        return True
    hits, _ = own_hits(case.measure, case.judgments, case.lists, np.ones(len(case.lists.rank), bool))
    return len(hits.pair) > 0


def _about_the_run(
    result: GateResult, case: Case, same_lists: bool, no_signal: bool, nothing: bool, low_tail: float
) -> Iterator[Flag]:
    if nothing:
        yield Flag(
            "nothing_judged",
            "NO RETRIEVED DOCUMENT IS JUDGED FOR ITS OWN QUERY: the qrels are almost certainly not those of this run "
            "(another round, another collection, other query numbers).",
        )
    if same_lists:
        yield Flag(
            "query_independent",
            "Every query has the same list: what is scored is the list's popularity, and delta A is 0 exactly.",
        )
    if no_signal:
        yield Flag(
            "no_signal_in_ties",
            f"All scores of every list are equal and the lists are the whole pool: averaged over the order of ties the "
            f"score is the floor, {result.floor:.4f}; {result.score:.4f} is the work of the tie rule alone.",
        )
    elif case.lists.all_tied:
        yield Flag(
            "no_signal_in_ties",
            f"All scores of every list are equal: the order is the tie rule's, and any value from "
            f"{result.tie_span[0]:.4f} to {result.tie_span[1]:.4f} could have come out.",
        )
    if not (nothing or no_signal) and low_tail <= BELOW_CHANCE:
        yield Flag(
            "below_chance",
            f"The score {result.score:.4f} lies under the floor {result.floor:.4f} by more than chance allows "
            f"(p = {low_tail:.3f}): reversed scores, wrong ids or dropped documents.",
        )


def _about_ties(result: GateResult, case: Case, settings: Settings) -> Iterator[Flag]:
    if case.lists.all_tied:
        return
    bar = max(null.mean for null in result.nulls.values()) + settings.tau
    if result.tie_span[0] < bar <= result.tie_span[1]:
        yield Flag(
            "ties_decide",
            f"The order of tied documents alone moves the score from {result.tie_span[0]:.4f} to "
            f"{result.tie_span[1]:.4f}, across the bar of {bar:.4f}: the verdict is the tie rule's.",
        )


def _about_room(result: GateResult, judged: Mapping[str, NullResult], settings: Settings) -> Iterator[Flag]:
    room = result.ceiling - result.floor
    if room < NO_ROOM:
        yield Flag(
            "cannot_fail",
            f"Any order of these documents scores {result.ceiling:.4f}: {result.measure} is constant here and says "
            "nothing about a system.",
        )
    short = [name for name, null in judged.items() if result.ceiling - null.mean < settings.tau]
    if short:
        yield Flag(
            "cannot_pass",
            f"No system could pass: even the best list, {result.ceiling:.4f}, is less than tau above "
            f"null {', '.join(short)}.",
        )
    if NO_ROOM <= room < 2 * settings.tau:
        gap = judged["C"].delta
        yield Flag(
            "small_scale",
            f"Between floor and ceiling lie only {room:.4f}, so tau = {settings.tau:g} is large here: the gap over "
            f"random retrieval is {gap:.4f}, {gap / room:.0%} of that range.",
        )


def _about_nulls(
    judged: Mapping[str, NullResult], case: Case, settings: Settings, gold: GoldSets, toothless: set[str]
) -> Iterator[Flag]:
    if toothless:
        names = sorted(toothless)
        most = max(judged[name].reach for name in names)
        yield Flag(
            "null_toothless",
            f"Null {', '.join(names)} says nothing here: no order of the candidates could score more than {most:.4f} "
            "under it, as they hold next to no gold of other queries. The verdict rests on the others.",
        )
    counts = gold_counts(case.measure, case.judgments)
    single = bool((counts <= 1).all()) and len(gold.rows) > 0 and _label_is_all(case.measure, case.judgments)
    if settings.null_d == "sets" or single:
        distinct = gold.n_sets == len(gold.rows)
        yield Flag(
            "nulls_coincide",
            f"Nulls {'A, B and D' if distinct else 'A and D'} have the same expectation here ("
            + ("one gold document per query" if single else "whole gold sets are drawn")
            + ("; no two queries share a gold set" if distinct else "")
            + "): they are one witness, not several.",
        )
    if case.pool.source == "observed":
        yield Flag(
            "pool_observed",
            f"N = {int(case.pool.size.max(initial=0))} counts only documents seen in qrels and runs; the collection "
            "is larger, so the floor shown is too high and the gate errs on the strict side. Give --pool N.",
        )
    inside = case.pool.inside
    if inside is not None:
        seen = case.judgments.grade >= gold_level(case.measure)
        outside = int((seen & ~inside).sum())
        if outside:
            yield Flag(
                "gold_outside_pool",
                f"{outside} of {int(seen.sum())} gold documents lie outside the pool: no system can retrieve them, "
                "and the ceiling shows it.",
            )


def _about_clusters(case: Case, gold: GoldSets) -> Iterator[Flag]:
    """Queries that share their gold with another and get much the same of it: paraphrases, most likely."""
    if case.clusters is not None or gold.n_sets == len(gold.rows):
        return
    lists, seen = case.lists, visible(case.measure, case.lists)
    shared = np.bincount(gold.set_of, minlength=gold.n_sets)[gold.set_of] > 1
    first: dict[int, set[int]] = {}
    alike: dict[int, int] = {}
    for q, kind in zip(gold.rows[shared].tolist(), gold.set_of[shared].tolist(), strict=True):
        part = slice(lists.start[q], lists.start[q + 1])
        mine = set(lists.doc[part][seen[part]].tolist())
        other = first.setdefault(kind, mine)
        if other is not mine and mine and len(mine & other) >= ALIKE * len(mine | other):
            alike[kind] = alike.get(kind, 1) + 1
    n = sum(alike.values())
    if n >= MANY * case.judgments.n_queries:
        yield Flag(
            "queries_alike",
            f"{n} of {case.judgments.n_queries} queries share their gold with another and get much the same "
            f"documents, in {len(alike)} groups: they are no independent witnesses, and the intervals are too narrow. "
            "Give --clusters.",
        )


def _label_is_all(measure: Measure, judgments: Judgments) -> bool:
    """Whether to deal out one gold document by D is to deal out all that the measure sees, as A does: D leaves
    documents below gold in place, which bpref sees, and a query's grade with the query, which moves ERR."""
    seen = judgments.grade[judgments.grade >= lowest_grade(measure)]
    blind = measure.has_kernel and measure.family not in ("bpref", "ERR")
    return blind or len(np.unique(seen)) <= 1


def _about_size(result: GateResult, case: Case, settings: Settings) -> Iterator[Flag]:
    n = case.judgments.n_queries
    if case.independent < MIN_QUERIES:
        what = "queries" if case.clusters is None else "clusters of queries"
        said = f"Too few {what} for any interval: {case.independent}, and at least {MIN_QUERIES} are needed."
        yield Flag("few_queries", said)
        return
    with_gold = int((gold_counts(case.measure, case.judgments) > 0).sum())
    if with_gold < 2:
        yield Flag(
            "few_queries",
            f"Only one of {n} queries has gold: there is no other gold set to deal to it, so null A has no interval."
            if with_gold
            else f"No query has gold for {case.measure} (the highest grade is "
            f"{int(case.judgments.grade.max(initial=0))}): no list could score, and no null has an interval.",
        )
        return
    if result.ceiling - result.floor < NO_ROOM:
        return
    differ = int((result.own != result.floor_per_query).sum())
    smallest = min(1.0, 2.0 ** (1 - differ))
    if smallest > settings.alpha:
        yield Flag(
            "few_queries",
            f"The score differs from chance in {differ} of {n} queries only: whatever they say, exchanging their signs "
            f"at random gives as much with a chance of {smallest:.3g}. Go by the intervals.",
        )
