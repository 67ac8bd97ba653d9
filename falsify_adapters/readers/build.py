"""Columns -> the frozen `Run` and `Qrels`, after the checks that every source shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from falsify_adapters.model import Codes, Flag, Floats, Ints, Qrels, Run, Source
from falsify_adapters.readers import checks
from falsify_adapters.readers.text import LineMap

if TYPE_CHECKING:
    import polars as pl

What = Literal["qrels", "run"]

_ENDINGS = (".run", ".trec", ".txt", ".tsv", ".res", ".results", ".json", ".parquet", ".parq", ".lz4")


def run_name(path: str) -> str:
    """The name of a run from its path: the file's name without .gz and one well-known ending."""
    if path == "-":
        return "stdin"
    if path.startswith("<"):
        return "run"
    stem = PurePath(path).name.removesuffix(".gz")
    for ending in _ENDINGS:
        if stem.endswith(ending) and stem != ending:
            return stem.removesuffix(ending)
    return stem


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """What runs and qrels have in common: the columns of their ids, and where these came from.

    queries, query, doc: as in `Run`, the ids checked; place: names a row in messages.
    """

    queries: tuple[str, ...]
    query: Codes
    doc: pl.Series
    source: Source
    place: checks.Place


def make_run(
    keys: Keys, name: str, score: Floats, rank: Codes | None, flags: Sequence[Flag], tag: str | None = None
) -> Run:
    """A run with its scores checked. Raises InputError for a score that is not finite."""
    checks.check_scores(score, keys.place)
    return Run(name, keys.queries, keys.query, keys.doc.alias("doc"), score, rank, keys.source, tuple(flags), tag)


def make_qrels(keys: Keys, grade: Ints, flags: Sequence[Flag]) -> Qrels:
    """Qrels with their grades checked; identical repeats are dropped and counted in a flag.

    Raises InputError for a grade beyond +-1000 and for two grades of one document.
    """
    checks.check_grades(grade, keys.place)
    query, doc, source = keys.query, keys.doc.alias("doc"), keys.source
    kept = checks.first_judgments(query, doc, grade, keys.place, keys.queries)
    if kept is not None:
        dropped = len(grade) - len(kept)
        said = "1 judgment repeats" if dropped == 1 else f"{dropped} judgments repeat"
        flags = [*flags, Flag("duplicate_judgments", f"{source.path}: {said} an earlier one; dropped.")]
        query, doc, grade = query[kept], doc.gather(kept), grade[kept]
        if isinstance(source.line_of, LineMap):
            source = replace(source, line_of=replace(source.line_of, kept=kept))
    return Qrels(keys.queries, query, doc, grade, source, tuple(flags))
