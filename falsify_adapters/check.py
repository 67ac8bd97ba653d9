"""Where all rooms meet: qrels and runs in, a report out. One function per question a user asks."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from falsify_adapters import judging
from falsify_adapters.core.case import Settings
from falsify_adapters.core.findings import gold_counts
from falsify_adapters.errors import InputError, MissingInputError, OptionError
from falsify_adapters.measures import MeasureLike, parse_many
from falsify_adapters.model import Flag, Run
from falsify_adapters.pool import Entrant, PoolSpec, resolve
from falsify_adapters.ranking import Coded, code_qrels, rank
from falsify_adapters.remarks import about_queries, identical_runs
from falsify_adapters.report.data import Entry, GateReport, QrelsFacts

if TYPE_CHECKING:
    from falsify_adapters.model import Pool
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
    plans = [judging.plan(registry, backend, m, extra_nulls) for m in wanted]
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
    twins = identical_runs(entrants)
    settings = Settings(tau, alpha, n_boot, seed, null_d)
    entries = []
    tasks = [
        judging.Task(group, e.coded.judgments, e.ranked.lists, p, settings)
        for e, p in zip(entrants, pools, strict=True)
        for group in judging.groups(plans, jobs // len(entrants))
    ]
    owner = [at for at in range(len(entrants)) for _ in judging.groups(plans, jobs // len(entrants))]
    say("grading", 0, len(tasks))
    for n, (at, found) in enumerate(zip(owner, judging.answers(tasks, jobs), strict=True)):
        say("grading", n + 1, len(tasks))
        entrant, pooled = entrants[at], pools[at]
        common = (*judged.flags, *entrant.ranked.flags, *twins[at])
        entries += [
            _entry(a, tables[at], entrant, pooled, (*common, *about_queries(a.result.measure, entrant, pooled)))
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
        "ties": ties, "queries": queries, "unit": "documents", "pool": pool if isinstance(pool, str) else int(pool),
        "depth": cut, "rel": rel, "duplicates": duplicates, "drop_self": drop_self,
    }  # fmt: skip
    return GateReport(shown, facts, tuple(entries))


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


def _entry(answer: judging.Answer, run: _RunFacts, entrant: Entrant, pool: Pool, flags: tuple[Flag, ...]) -> Entry:
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
