"""Taking in qrels and runs: read, coded, ranked once, each run with its pool. The same for every command."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from falsify_adapters.core.chunk_null import ChunkPool
from falsify_adapters.errors import InputError, OptionError
from falsify_adapters.model import Ints, Pool, Run
from falsify_adapters.pool import Entrant, PoolSpec, resolve
from falsify_adapters.ranking import Coded, Duplicates, Ties, code_qrels, no_run, rank
from falsify_adapters.ranking_notes import some
from falsify_adapters.textfile import lines

if TYPE_CHECKING:
    from falsify_adapters.model import Qrels
    from falsify_adapters.offers import PoolSource
    from falsify_adapters.registry import Registry
    from falsify_adapters.units import Units

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Intake:
    """How qrels and runs are taken in; the options of the same names. units: what maps chunks to documents; depth
    counts chunks then. chunks: the file of all chunk ids, which is the pool unless another is given."""

    pool: PoolSpec = "observed"
    depth: int | None = None
    max_docs: int | None = None
    ties: Ties = "trec"
    queries: str = "judged"
    queries_file: str | None = None
    duplicates: Duplicates = "error"
    drop_self: bool = False
    input_format: str | None = None
    units: Units | None = None
    chunks: str | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What a run is called, where it is from, the digest of its bytes, and its own tag."""

    name: str
    path: str
    sha256: str | None
    tag: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """Qrels as read and in codes; for each run its facts, its lists, its pool, and that in chunks where it is known."""

    qrels: Qrels
    coded: Coded
    facts: tuple[RunFacts, ...]
    entrants: tuple[Entrant, ...]
    pools: tuple[Pool, ...]
    chunks: tuple[ChunkPool | None, ...]


def take_in(qrels: Any, runs: Any, how: Intake, registry: Registry, say: Progress, *, runless: bool = False) -> Taken:
    """Read and rank; runless: there is no run, and all is as if one had answered nothing. Raises FalsifyError, naming
    file, line and cure."""
    from falsify_adapters.readers import read_qrels

    reader = None if how.input_format is None else registry.resolve("readers", how.input_format)
    sources = [] if runless else several(runs)
    say("reading", 0, len(sources) + 1)
    judged = read_qrels(qrels, format=reader)
    coded = code_qrels(judged)
    if how.queries_file is not None:
        coded = only_queries(coded, how.queries_file)
    facts, entrants = [], []
    for n, source in enumerate(sources):
        say("reading", n + 1, len(sources) + 1)
        known, entrant = _enter(source, n, len(sources), coded, how, reader)
        facts.append(known)
        entrants.append(entrant)
    if not sources:
        facts, entrants = [RunFacts("", coded.path, None)], [Entrant(coded.path, coded, no_run(coded))]
    if how.chunks is not None:
        return _in_chunks(how, Taken(judged, coded, tuple(facts), tuple(entrants), (), ()))
    pools = resolve(how.pool, entrants, drop_self=how.drop_self, sources=pool_sources(registry))
    return Taken(judged, coded, tuple(facts), tuple(entrants), tuple(pools), (None,) * len(pools))


def _in_chunks(how: Intake, taken: Taken) -> Taken:
    """The pool that a file of chunk ids gives: N in documents, and how many chunks each has."""
    from falsify_adapters.collection import read_collection

    if how.units is None or how.chunks is None:
        raise OptionError(
            "chunk ids say nothing of documents without a mapping", where="--chunks",
            legal="--chunks together with --unit-sep, --unit-regex or --unit-map",
        )  # fmt: skip
    if how.max_docs is not None:
        raise OptionError(
            "lists of so many documents are cut after chunks were mapped, and the floor over chunks is for uncut ones",
            where="-M", legal="--depth K, which counts chunks, or measures with a cutoff", mend="Leave -M out.",
        )  # fmt: skip
    if how.pool != "observed":
        raise OptionError(
            f"N is given twice, by --pool {how.pool} and by --chunks", where="--pool", legal="one of them"
        )
    collection = read_collection(how.chunks, how.units)
    for e in taken.entrants:
        collection.check(e)
    pools = collection.pools(taken.entrants, drop_self=how.drop_self)
    counts = collection.chunks
    known = [
        ChunkPool(counts, collection.weight(e.coded), int(e.ranked.retrieved.max(initial=0)) or None)
        for e in taken.entrants
    ]
    return replace(taken, pools=tuple(pools), chunks=tuple(known))


def digests(how: Intake) -> list[dict[str, str | None]]:
    """Role, path and sha256 of the files beside qrels and runs: of ids, chunks, the mapping and the queries."""
    pool = str(how.pool)
    named = {
        "pool": pool.removeprefix("candidates:"), "chunks": how.chunks, "queries": how.queries_file,
        "unit map": None if how.units is None else how.units.path,
    }  # fmt: skip
    return [
        {"role": role, "path": path, "sha256": hashlib.sha256(Path(path).read_bytes()).hexdigest()}
        for role, path in named.items()
        if path is not None and Path(path).is_file()
    ]


def units_of(registry: Registry, unit: str | None = None, **options: str | None) -> Units | None:
    """The mapping that the options name. unit: "NAME:ARGUMENT", the mapping of that name; options: the argument of a
    mapping by its name (sep, regex, map). Raises OptionError where there is more than one."""
    from falsify_adapters.units import Units, by_function

    given = [(name, argument) for name, argument in options.items() if argument is not None]
    if unit is not None:
        name, _, argument = unit.partition(":")
        given.append((name, argument))
    if len(given) > 1:
        raise OptionError(
            "chunks are mapped twice", where="--unit-sep, --unit-regex, --unit-map, --unit", legal="one of them"
        )
    if not given:
        return None
    name, argument = given[0]
    make: Callable[[str], Any] = registry.resolve("units", name)
    mapping = make(argument)
    return mapping if isinstance(mapping, Units) else by_function(mapping, f"{name}:{argument}")


def pool_sources(registry: Registry) -> dict[str, Callable[[], PoolSource]]:
    """The pool sources on offer, by name, loaded when called."""
    return {name: partial(_pool_source, registry, name) for name in registry.names("pools")}


def _pool_source(registry: Registry, name: str) -> PoolSource:
    source: PoolSource = registry.resolve("pools", name)
    return source


def several(runs: Any) -> list[Any]:
    """The runs given: a list or tuple of sources is several, anything else is one."""
    if not isinstance(runs, (list, tuple)):
        return [runs]
    if not runs:
        raise OptionError("no run was given", legal="one run or more")
    rows = all(hasattr(x, "query_id") and hasattr(x, "doc_id") for x in runs)  # a list of ScoredDoc is one run
    return [runs] if rows else list(runs)


def _enter(source: Any, n: int, total: int, coded: Coded, how: Intake, reader: Any) -> tuple[RunFacts, Entrant]:
    from falsify_adapters.readers import read_run

    named = isinstance(getattr(source, "name", None), str)  # ranx's runs have names of their own
    in_memory = not (named or isinstance(source, (str, Path, Run)))
    run = read_run(source, name=f"run {n + 1}" if in_memory and total > 1 else None, format=reader)
    if how.queries == "both":
        both = coded.subset(set(run.queries))
        coded = both if both.judgments.n_queries else coded  # none: ranking says so, with ids of both sides
    ranked = rank(
        run, coded, ties=how.ties, duplicates=how.duplicates, depth=how.depth, max_docs=how.max_docs,
        drop_self=how.drop_self, units=how.units,
    )  # fmt: skip
    name = run.source.path if isinstance(source, (str, Path)) else run.name
    return RunFacts(name, run.source.path, run.source.sha256, run.tag), Entrant(run.source.path, coded, ranked)


def clusters_of(coded: Coded, path: str) -> Ints:
    """(Q,) the cluster of each judged query, numbered by name, from a file of query and cluster. Raises InputError."""
    named: dict[str, str] = {}
    for number, line in lines(path, option="--clusters", legal="a file of two columns, query and cluster"):
        fields = line.split()
        if len(fields) != 2:
            raise InputError(
                f"{len(fields)} fields in {line[:80]!r}", where=path, line=number, legal="query and cluster"
            )
        if named.setdefault(fields[0], fields[1]) != fields[1]:
            raise InputError(
                f"query {fields[0]!r} belongs to {named[fields[0]]!r} and to {fields[1]!r}", where=path, line=number,
                legal="one cluster per query",
            )  # fmt: skip
    lacking = [query for query in coded.judgments.queries if query not in named]
    if lacking:
        raise InputError(
            f"{len(lacking)} of {coded.judgments.n_queries} judged queries have no cluster: {some(lacking)}",
            where=path, legal="a cluster for every judged query", mend="A query that stands alone is a cluster of one.",
        )  # fmt: skip
    numbers = {name: n for n, name in enumerate(sorted({named[q] for q in coded.judgments.queries}))}
    return np.array([numbers[named[q]] for q in coded.judgments.queries], np.int64)


def only_queries(coded: Coded, path: str) -> Coded:
    """The queries that a file names, one a line."""
    wanted = {line.split()[0] for _, line in lines(path, option="--queries-file")}
    if not wanted:
        raise InputError("no query ids", where=path, legal="one query id a line")
    unknown = sorted(wanted - set(coded.judgments.queries))
    if unknown:
        raise InputError(
            f"{len(unknown)} of {len(wanted)} queries have no judgments in {coded.path}: {some(unknown)}",
            where=path,
            mend="Name judged queries only.",
        )
    return coded.subset(wanted)
