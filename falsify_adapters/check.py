"""Where all rooms meet: qrels and runs in, a report out. One function per question a user asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from falsify_adapters import judging
from falsify_adapters.core.case import Settings
from falsify_adapters.core.cross import own_hits
from falsify_adapters.core.findings import gold_counts
from falsify_adapters.errors import OptionError
from falsify_adapters.intake import Intake, Progress, RunFacts, clusters_of, take_in, units_of
from falsify_adapters.measures import Measure, MeasureLike, parse_many
from falsify_adapters.model import Flag
from falsify_adapters.pool import Entrant, PoolSpec
from falsify_adapters.remarks import about_queries, identical_runs
from falsify_adapters.report.data import Entry, GateReport, QrelsFacts

if TYPE_CHECKING:
    from falsify_adapters.model import Ints, Pool
    from falsify_adapters.ranking import Duplicates, Ties
    from falsify_adapters.registry import Registry
    from falsify_adapters.units import Units


def gate(
    qrels: Any,
    runs: Any,
    measures: Iterable[MeasureLike] | MeasureLike = "nDCG@10",
    *,
    backend: str = "ir_measures",
    pool: PoolSpec = "observed",
    depth: int | None = None,
    ties: str = "trec",
    queries: str = "judged",
    queries_file: str | None = None,
    rel: int = 1,
    max_docs: int | None = None,
    duplicates: str = "error",
    drop_self: bool = False,
    clusters: str | None = None,
    tau: float = 0.05,
    alpha: float = 0.05,
    n_boot: int = 1000,
    seed: int = 0,
    null_d: str = "documents",
    extra_nulls: Sequence[str] = (),
    unit_sep: str | None = None,
    unit_regex: str | None = None,
    unit_map: str | None = None,
    unit: str | None = None,
    units: Units | None = None,
    chunks: str | None = None,
    input_format: str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
    registry: Registry | None = None,
) -> GateReport:
    """The four-null gate: is a score above what permuted, uniform and popular gold and random retrieval reach?

    qrels, runs: anything that `readers` reads; runs: one, or a list of them. measures: one or several, in any
    spelling. extra_nulls: nulls of plugins, by name, that have to be beaten too. input_format: the reader of qrels and
    runs, by name; None: told by what the files hold. units: a mapping from chunks to documents, in place of the unit
    options. clusters: a file of query and cluster, where queries are not independent: intervals resample clusters.
    Options as on the command line. Raises FalsifyError, whose message names file, line and cure.
    """
    check_options(
        ties=ties, queries=queries, duplicates=duplicates, null_d=null_d, tau=tau, alpha=alpha, n_boot=n_boot,
        depth=depth, max_docs=max_docs, jobs=jobs, seed=seed,
    )  # fmt: skip
    registry = registry or new_registry()
    backend = registry.resolve("backends", backend).name  # as the registry spells it
    wanted = parse_many(measures, rel, known=known_to(registry))
    plans = [judging.plan(registry, backend, m, extra_nulls) for m in wanted]
    say = progress or _silent
    mapping = units or units_of(registry, unit, sep=unit_sep, regex=unit_regex, map=unit_map)
    how = Intake(
        pool, depth, max_docs, cast("Ties", ties), queries, queries_file, cast("Duplicates", duplicates), drop_self,
        input_format, mapping, chunks,
    )  # fmt: skip
    taken = take_in(qrels, runs, how, registry, say)
    judged, coded, entrants, pools = taken.qrels, taken.coded, taken.entrants, taken.pools
    twins = identical_runs(entrants)
    settings = Settings(tau, alpha, n_boot, seed, null_d)
    entries = []
    together = {
        e.coded.judgments.queries: None if clusters is None else clusters_of(e.coded, clusters) for e in entrants
    }
    tasks = [
        judging.Task(group, e.coded.judgments, e.ranked.lists, p, settings, c, together[e.coded.judgments.queries])
        for e, p, c in zip(entrants, pools, taken.chunks, strict=True)
        for group in judging.groups(plans, jobs // len(entrants))
    ]
    owner = [at for at in range(len(entrants)) for _ in judging.groups(plans, jobs // len(entrants))]
    say("grading", 0, len(tasks))
    for n, (at, found) in enumerate(zip(owner, judging.answers(tasks, jobs), strict=True)):
        say("grading", n + 1, len(tasks))
        entrant, pooled = entrants[at], pools[at]
        common = (*judged.flags, *entrant.ranked.flags, *twins[at])
        counted = _counted(entrant, rel)
        entries += [
            _entry(
                a,
                taken.facts[at],
                entrant,
                pooled,
                counted,
                (*common, *about_queries(a.result.measure, entrant, pooled)),
                tau,
            )
            for a in found
        ]
    facts = QrelsFacts(
        judged.source.path,
        judged.source.sha256,
        coded.judgments.n_queries,
        len(coded.judgments.doc),
        int((coded.judgments.grade >= 1).sum()),
    )
    shown = {
        "backend": backend, "tau": tau, "alpha": alpha, "n_boot": n_boot, "seed": seed, "null_d": null_d,
        "ties": ties, "queries": queries, "unit": "documents" if mapping is None else f"documents by {mapping.name}",
        "pool": int(pool) if isinstance(pool, Integral) else str(pool), "chunks": chunks, "depth": depth,
        "max_docs": max_docs, "rel": rel, "official": _official(measures), "duplicates": duplicates,
        "drop_self": drop_self, "clusters": clusters,
    }  # fmt: skip
    return GateReport(shown, facts, tuple(entries))


def _silent(_stage: str, _done: int, _total: int) -> None:
    return None


def new_registry() -> Registry:
    """What is built in and what plugins offer."""
    from falsify_adapters.registry import Registry

    return Registry()


def known_to(registry: Registry) -> Callable[[str], bool]:
    """Whether a measure of this name is on offer."""
    names = set(registry.names("measures"))
    return lambda name: name in names


def _official(measures: Any) -> bool:
    """Whether trec_eval's official set was asked for by its name."""
    asked = (measures,) if isinstance(measures, str) else measures
    return isinstance(asked, (list, tuple)) and any(
        isinstance(m, str) and m.strip().casefold() == "official" for m in asked
    )


def _counted(entrant: Entrant, rel: int) -> tuple[Ints, Ints]:
    """(Q,) documents at the relevance level, and those of them that were retrieved."""
    judgments, lists = entrant.coded.judgments, entrant.ranked.lists
    hits, _ = own_hits(Measure("AP", None, rel), judgments, lists)
    relevant = np.bincount(judgments.query[judgments.grade >= rel], minlength=judgments.n_queries)
    return relevant, np.bincount(hits.pair[hits.grade >= rel], minlength=judgments.n_queries)


def _entry(
    answer: judging.Answer, run: RunFacts, entrant: Entrant, pool: Pool, counted: tuple[Ints, Ints],
    flags: tuple[Flag, ...], tau: float,
) -> Entry:  # fmt: skip
    result, judgments, lists = answer.result, entrant.coded.judgments, entrant.ranked.lists
    return Entry(
        run=run.name,
        path=run.path,
        sha256=run.sha256,
        result=replace(result, flags=(*result.flags, *answer.flags, *flags)),
        backend=answer.backend,
        score_source=answer.source,
        verified_queries=answer.verified,
        queries=judgments.queries,
        missing=entrant.ranked.missing,
        ignored=entrant.ranked.ignored,
        gold=gold_counts(result.measure, judgments),
        first_tie=lists.first_tie,
        depth=lists.depth,
        pool_size=pool.size,
        relevant=counted[0],
        found=counted[1],
        pool_source=pool.source,
        tag=run.tag,
        tau=tau,
    )


def check_options(**given: Any) -> None:
    """Raise OptionError for an option outside its range, in words or in numbers."""
    words = {
        "ties": ("trec", "input", "expected"), "queries": ("judged", "both"), "duplicates": ("error", "best"),
        "null_d": ("documents", "sets"),
    }  # fmt: skip
    ranges = {
        "n_boot": (100, 10**5), "depth": (1, 2**31 - 1), "max_docs": (1, 2**31 - 1), "jobs": (1, 1024),
        "seed": (0, 2**63 - 1), "measured_seeds": (1, 10**6), "simulate": (2, 10**4),
    }  # fmt: skip
    for name, value in given.items():
        if name in words:
            fine, legal = value in words[name], ", ".join(words[name])
        elif name in ranges:
            least, most = ranges[name]
            whole = isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most
            fine = whole or (value is None and name in ("depth", "max_docs", "simulate"))
            legal = f"a whole number from {least} to {most}"
        elif name == "check_alpha":
            fine = isinstance(value, Real) and not isinstance(value, bool) and 1e-6 <= float(value) <= 0.5
            legal = "a number from 1e-06 to 0.5"
        else:
            fine = isinstance(value, Real) and not isinstance(value, bool) and 0.0 < float(value) < 1.0
            legal = "a number between 0 and 1"
        if not fine:
            raise OptionError(f"{value!r} is not legal", where=f"--{name.replace('_', '-')}", legal=legal)
