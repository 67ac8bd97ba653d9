"""Where all rooms meet: qrels and runs in, a report out. One function per question a user asks."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from falsify_adapters.core import floors
from falsify_adapters.core.case import Case, ExtraScores, GateResult, Settings
from falsify_adapters.core.cross import CrossScores, Grade
from falsify_adapters.core.findings import gold_counts
from falsify_adapters.core.gate import examine
from falsify_adapters.core.nulls import NullScores
from falsify_adapters.errors import InputError, MeasureError, MissingInputError, OptionError
from falsify_adapters.grading import Traits, grade_run
from falsify_adapters.measures import Measure, MeasureLike, looks_to, parse_many, zero_without_gold
from falsify_adapters.model import Flag, Floats, Run
from falsify_adapters.pool import Entrant, PoolSpec, resolve
from falsify_adapters.ranking import Coded, code_qrels, rank
from falsify_adapters.report.data import Entry, GateReport, QrelsFacts

if TYPE_CHECKING:
    from falsify_adapters.model import Backend, Judgments, Lists, Pool
    from falsify_adapters.offers import ExtraNull, MeasureSpec
    from falsify_adapters.registry import Registry

Progress = Callable[[str, int, int], None]


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
    tau: float = 0.05,
    alpha: float = 0.05,
    n_boot: int = 1000,
    seed: int = 0,
    null_d: str = "documents",
    extra_nulls: Sequence[str] = (),
    jobs: int = 1,
    progress: Progress | None = None,
    registry: Registry | None = None,
) -> GateReport:
    """The four-null gate: is a score above what permuted, uniform and popular gold and random retrieval reach?

    qrels, runs: anything that `readers` reads; runs: one, or a list of them. measures: one or several, in any
    spelling. Options as on the command line. Raises FalsifyError, whose message names file, line and cure.
    """
    _check_options(ties, queries, duplicates, null_d, tau=tau, alpha=alpha, n_boot=n_boot, depth=depth, jobs=jobs)
    registry = registry or _registry()
    wanted = parse_many(measures, rel, known=_known(registry))
    plans = [_plan(registry, backend, m, extra_nulls) for m in wanted]
    say = progress or _silent
    from falsify_adapters.readers import read_qrels

    sources = _several(runs)
    say("reading", 0, len(sources) + 1)
    judged = read_qrels(qrels)
    coded = code_qrels(judged)
    if queries_file is not None:
        coded = _only(coded, queries_file)
    entrants, tables = [], []
    cut = min((k for k in (depth, max_docs) if k is not None), default=None)
    for n, source in enumerate(sources):
        say("reading", n + 1, len(sources) + 1)
        entrant, table = _enter(source, n, len(sources), coded, queries, ties, duplicates, cut, drop_self)
        entrants.append(entrant)
        tables.append(table)
    pools = resolve(pool, entrants, drop_self=drop_self)
    twins = _twins(entrants)
    settings = Settings(tau, alpha, n_boot, seed, null_d)
    entries = []
    tasks = [
        _Task(group, e.coded.judgments, e.ranked.lists, p, settings)
        for e, p in zip(entrants, pools, strict=True)
        for group in _groups(plans, jobs // len(entrants))
    ]
    owner = [at for at in range(len(entrants)) for _ in _groups(plans, jobs // len(entrants))]
    say("grading", 0, len(tasks))
    for n, (at, answers) in enumerate(zip(owner, _all_answers(tasks, jobs), strict=True)):
        say("grading", n + 1, len(tasks))
        entrant, pooled = entrants[at], pools[at]
        common = (*judged.flags, *entrant.ranked.flags, *twins[at])
        entries += [
            _entry(a, tables[at], entrant, pooled, (*common, *_query_flags(a, entrant, pooled))) for a in answers
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
        "ties": ties, "queries": queries, "unit": "documents", "pool": pool if isinstance(pool, str) else int(pool),
        "depth": cut, "rel": rel, "duplicates": duplicates, "drop_self": drop_self,
    }  # fmt: skip
    return GateReport(shown, facts, tuple(entries))


@dataclass(frozen=True, slots=True)
class _Plan:
    """A measure with who computes it and what else is known of it."""

    measure: Measure
    backend: Backend
    traits: Traits
    spec: MeasureSpec | None
    extra: tuple[ExtraNull, ...]


@dataclass(frozen=True, slots=True)
class _Task:
    """Measures of one run, ready to be judged in this process or another."""

    plans: tuple[_Plan, ...]
    judgments: Judgments
    lists: Lists
    pool: Pool
    settings: Settings


@dataclass(frozen=True, slots=True)
class _Answer:
    result: GateResult
    source: str
    verified: int
    flags: tuple[Flag, ...]


@dataclass(frozen=True, slots=True)
class _RunFacts:
    name: str
    path: str
    sha256: str | None


def _silent(_stage: str, _done: int, _total: int) -> None:
    return None


def _registry() -> Registry:
    from falsify_adapters.registry import Registry

    return Registry()


def _known(registry: Registry) -> Callable[[str], bool]:
    names = set(registry.names("measures"))
    return lambda name: name in names


def _plan(registry: Registry, backend: str, measure: Measure, extra_nulls: Sequence[str]) -> _Plan:
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
    return _Plan(measure, chosen, traits, spec, extra)


def _answers(task: _Task) -> list[_Answer]:
    judgments, lists, pool, n_boot = task.judgments, task.lists, task.pool, task.settings.n_boot
    graded = [grade_run(p.measure, judgments, lists, pool, p.backend, p.traits, n_boot) for p in task.plans]
    cases = [
        Case(
            p.measure, judgments, lists, pool, g.grade, g.own, g.ideal, _floor(p, task, g.exact), g.n_draws,
            p.traits.zero, {null.name: _extra(null, p.measure, task, g.grade) for null in p.extra},
        )
        for p, g in zip(task.plans, graded, strict=True)
    ]  # fmt: skip
    results = examine(cases, task.settings)
    return [_Answer(r, g.source, g.verified, g.flags) for r, g in zip(results, graded, strict=True)]


def _floor(plan: _Plan, task: _Task, exact: bool) -> Floats | None:
    depth, pool = task.lists.depth, task.pool
    if exact:
        return floors.expectation(plan.measure, task.judgments, pool.size, depth, pool.inside)
    if plan.spec is not None and plan.spec.floor is not None:
        from falsify_adapters.adapters.spec_backend import floors as by_spec

        return by_spec(plan.spec, plan.measure, task.judgments, pool, depth)
    return None


def _extra(null: ExtraNull, measure: Measure, task: _Task, grade: Grade) -> ExtraScores:
    from falsify_adapters.offers import NullInput

    def scores(cross: CrossScores, n_draws: int, rng: np.random.Generator) -> NullScores:
        return null.scores(NullInput(measure, task.judgments, task.lists, task.pool, cross, grade), n_draws, rng)

    return scores


def _groups(plans: Sequence[_Plan], parts: int) -> list[tuple[_Plan, ...]]:
    """The measures of a run, in as many groups as there are processes for one run."""
    parts = max(1, min(parts, len(plans)))
    edges = [len(plans) * n // parts for n in range(parts + 1)]
    return [tuple(plans[a:b]) for a, b in pairwise(edges)]


def _all_answers(tasks: Sequence[_Task], jobs: int) -> Iterable[list[_Answer]]:
    if jobs == 1 or len(tasks) == 1:
        yield from map(_answers, tasks)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Spawned, not forked: polars and BLAS hold threads, and a forked thread pool deadlocks.
    with ProcessPoolExecutor(min(jobs, len(tasks)), multiprocessing.get_context("spawn")) as workers:
        yield from workers.map(_answers, tasks)


def _entry(answer: _Answer, run: _RunFacts, entrant: Entrant, pool: Pool, flags: tuple[Flag, ...]) -> Entry:
    result, judgments, lists = answer.result, entrant.coded.judgments, entrant.ranked.lists
    return Entry(
        run=run.name,
        path=run.path,
        sha256=run.sha256,
        result=replace(result, flags=(*result.flags, *answer.flags, *flags)),
        score_source=answer.source,
        verified_queries=answer.verified,
        queries=judgments.queries,
        missing=entrant.ranked.missing,
        ignored=entrant.ranked.ignored,
        gold=gold_counts(result.measure, judgments),
        first_tie=lists.first_tie,
        depth=lists.depth,
        pool_size=pool.size,
        pool_source=pool.source,
    )


def _several(runs: Any) -> list[Any]:
    """The runs given: a list or tuple of sources is several, anything else is one."""
    if not isinstance(runs, (list, tuple)):
        return [runs]
    if not runs:
        raise OptionError("no run was given", legal="one run or more")
    rows = all(hasattr(x, "query_id") and hasattr(x, "doc_id") for x in runs)  # a list of ScoredDoc is one run
    return [runs] if rows else list(runs)


def _enter(
    source: Any,
    n: int,
    total: int,
    coded: Coded,
    queries: str,
    ties: str,
    duplicates: str,
    cut: int | None,
    drop_self: bool,
) -> tuple[Entrant, _RunFacts]:
    from falsify_adapters.readers import read_run

    in_memory = not isinstance(source, (str, Path, Run))
    run = read_run(source, name=f"run {n + 1}" if in_memory and total > 1 else None)
    if queries == "both":
        coded = coded.subset(set(run.queries))
        if not coded.judgments.n_queries:
            raise InputError(f"no query of the run is judged in {coded.path}", where=run.source.path)
    ranked = rank(run, coded, ties=ties, duplicates=duplicates, depth=cut, drop_self=drop_self)  # type: ignore[arg-type]
    name = run.source.path if isinstance(source, (str, Path)) else run.name
    return Entrant(run.source.path, coded, ranked), _RunFacts(name, run.source.path, run.source.sha256)


def _only(coded: Coded, path: str) -> Coded:
    try:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except FileNotFoundError:
        raise MissingInputError("there is no such file", where=path, legal="a file with one query id a line") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as text: {error}", where=path) from None
    wanted = {line.split()[0] for line in text.splitlines() if line.strip() and not line.startswith("#")}
    unknown = sorted(wanted - set(coded.judgments.queries))
    if unknown:
        raise InputError(
            f"{len(unknown)} of {len(wanted)} queries have no judgments in {coded.path}: "
            + ", ".join(map(repr, unknown[:5])),
            where=path,
            mend="Name judged queries only.",
        )
    if not wanted:
        raise InputError("no query ids", where=path, legal="one query id a line")
    return coded.subset(wanted)


def _query_flags(answer: _Answer, entrant: Entrant, pool: Pool) -> list[Flag]:
    judgments, ranked = entrant.coded.judgments, entrant.ranked
    lists, measure, n, flags = ranked.lists, answer.result.measure, judgments.n_queries, []
    if ranked.missing:
        flags.append(
            Flag(
                "queries_missing",
                f"{len(ranked.missing)} of {n} judged queries are not in the run and score 0: {_few(ranked.missing)}.",
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
    return ", ".join(ids[:5]) + (", ..." if len(ids) > 5 else "")


def _twins(entrants: Sequence[Entrant]) -> list[list[Flag]]:
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


def _check_options(ties: str, queries: str, duplicates: str, null_d: str, **numbers: Any) -> None:
    legal: Mapping[str, tuple[str, tuple[str, ...]]] = {
        "--ties": (ties, ("trec", "input")),
        "--queries": (queries, ("judged", "both")),
        "--duplicates": (duplicates, ("error", "best")),
        "--null-d": (null_d, ("documents", "sets")),
    }
    for option, (given, allowed) in legal.items():
        if given not in allowed:
            raise OptionError(f"{given!r} is not legal", where=option, legal=", ".join(allowed))
    for option in ("tau", "alpha"):
        if not 0.0 < numbers[option] < 1.0:
            raise OptionError(
                f"{numbers[option]!r} is not legal", where=f"--{option}", legal="a number between 0 and 1"
            )
    for option, least in (("n_boot", 100), ("depth", 1), ("jobs", 1)):
        if numbers[option] is not None and numbers[option] < least:
            name = option.replace("_", "-")
            raise OptionError(f"{numbers[option]!r} is not legal", where=f"--{name}", legal=f"{least} or more")
