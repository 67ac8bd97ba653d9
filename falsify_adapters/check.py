"""Where all rooms meet: qrels and runs in, a report out. One function per question a user asks."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from falsify_adapters.core import floors
from falsify_adapters.core.case import Case, GateResult, Settings
from falsify_adapters.core.findings import gold_counts
from falsify_adapters.core.gate import examine
from falsify_adapters.errors import BackendError, InputError, MeasureError, MissingInputError, OptionError
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
        _Task(plan, e.coded.judgments, e.ranked.lists, p, settings)
        for e, p in zip(entrants, pools, strict=True)
        for plan in plans
    ]
    say("grading", 0, len(tasks))
    for n, answer in enumerate(_answers(tasks, jobs)):
        say("grading", n + 1, len(tasks))
        at = n // len(plans)
        entrant, table = entrants[at], tables[at]
        flags = (*judged.flags, *entrant.ranked.flags, *_query_flags(entrant, tasks[n]), *twins[at])
        entries.append(
            Entry(
                run=table.name,
                path=table.path,
                sha256=table.sha256,
                result=replace(answer.result, flags=(*answer.result.flags, *answer.flags, *flags)),
                score_source=answer.source,
                verified_queries=answer.verified,
                queries=entrant.coded.judgments.queries,
                missing=entrant.ranked.missing,
                ignored=entrant.ranked.ignored,
                gold=gold_counts(answer.result.measure, entrant.coded.judgments),
                first_tie=entrant.ranked.lists.first_tie,
                depth=entrant.ranked.lists.depth,
                pool_size=pools[at].size,
                pool_source=pools[at].source,
            )
        )
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
    """One measure of one run, ready to be judged in this process or another."""

    plan: _Plan
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


def _answer(task: _Task) -> _Answer:
    plan, judgments, lists, pool, settings = task.plan, task.judgments, task.lists, task.pool, task.settings
    measure = plan.measure
    graded = grade_run(measure, judgments, lists, pool, plan.backend, plan.traits, settings.n_boot)
    case = Case(
        measure, judgments, lists, pool, graded.grade, graded.own, graded.ideal, _floor(task, graded.exact),
        graded.n_draws, plan.traits.zero, {null.name: _extra(null, task, graded.grade) for null in plan.extra},
    )  # fmt: skip
    return _Answer(examine(case, settings), graded.source, graded.verified, graded.flags)


def _floor(task: _Task, exact: bool) -> Floats | None:
    spec = task.plan.spec
    if exact:
        return floors.expectation(
            task.plan.measure, task.judgments, task.pool.size, task.lists.depth, task.pool.inside
        )
    if spec is not None and spec.floor is not None:
        from falsify_adapters.adapters.spec_backend import floors as by_spec

        return by_spec(spec, task.plan.measure, task.judgments, task.pool, task.lists.depth)
    return None


def _extra(null: ExtraNull, task: _Task, grade: Any) -> Any:
    from falsify_adapters.offers import NullInput

    def scores(cross: Any, n_draws: int, rng: np.random.Generator) -> Any:
        given = NullInput(task.plan.measure, task.judgments, task.lists, task.pool, cross, grade)
        return null.scores(given, n_draws, rng)

    return scores


def _answers(tasks: Sequence[_Task], jobs: int) -> Iterable[_Answer]:
    if jobs == 1 or len(tasks) == 1:
        yield from map(_answer, tasks)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Spawned, not forked: polars and BLAS hold threads, and a forked thread pool deadlocks.
    with ProcessPoolExecutor(min(jobs, len(tasks)), multiprocessing.get_context("spawn")) as workers:
        yield from workers.map(_answer, tasks)


def _several(runs: Any) -> list[Any]:
    """The runs given: a list or tuple of sources is several, anything else is one."""
    if not isinstance(runs, (list, tuple)):
        return [runs]
    if not runs:
        raise OptionError("no run was given", legal="one run or more")
    rows = all(hasattr(x, "query_id") and hasattr(x, "doc_id") for x in runs)  # a list of ScoredDoc is one run
    return [runs] if rows else list(runs)


def _enter(
    source: Any, n: int, total: int, coded: Coded, queries: str, ties: str, duplicates: str, cut: int | None,
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


def _query_flags(entrant: Entrant, task: _Task) -> list[Flag]:
    judgments, lists, ranked = task.judgments, task.lists, entrant.ranked
    measure, n, flags = task.plan.measure, task.judgments.n_queries, []
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
                f"{len(ranked.ignored)} queries of the run have no judgments and are left out: "
                f"{_few(ranked.ignored)}.",
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
    short = 0 if k is None else int(((lists.depth > 0) & (lists.depth < np.minimum(k, task.pool.size))).sum())
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
            flags[n].append(Flag("identical_runs", f"The ranked lists are those of {others}: one witness, not several."))
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
            raise OptionError(f"{numbers[option]!r} is not legal", where=f"--{option}", legal="a number between 0 and 1")
    for option, least in (("n_boot", 100), ("depth", 1), ("jobs", 1)):
        if numbers[option] is not None and numbers[option] < least:
            name = option.replace("_", "-")
            raise OptionError(f"{numbers[option]!r} is not legal", where=f"--{name}", legal=f"{least} or more")


__all__ = ["BackendError", "gate"]
