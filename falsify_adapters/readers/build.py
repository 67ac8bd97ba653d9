"""Columns -> the frozen `Run` and `Qrels`, after the checks that every source shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

import numpy as np

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
    stem = PurePath(path).name.removesuffix(".gz")
    for ending in _ENDINGS:
        if stem.endswith(ending) and stem != ending:
            return stem.removesuffix(ending)
    return stem


def make_run(
    name: str,
    queries: tuple[str, ...],
    query: Codes,
    doc: pl.Series,
    score: Floats,
    rank: Codes | None,
    source: Source,
    place: checks.Place,
    flags: Sequence[Flag] = (),
) -> Run:
    """A run from checked ids and raw scores. Raises InputError for a score that is not finite."""
    checks.check_scores(score, place)
    return Run(name, queries, query, doc.alias("doc"), score, rank, source, tuple(flags))


def make_qrels(
    queries: tuple[str, ...],
    query: Codes,
    doc: pl.Series,
    grade: Ints,
    source: Source,
    place: checks.Place,
    flags: Sequence[Flag] = (),
) -> Qrels:
    """Qrels from checked ids and raw grades; identical repeats are dropped and counted in a flag.

    Raises InputError for a grade beyond +-1000 and for two grades of one document.
    """
    checks.check_grades(grade, place)
    kept = checks.first_judgments(query, doc, grade, place, queries)
    if kept is not None:
        dropped = len(grade) - len(kept)
        said = "1 judgment repeats" if dropped == 1 else f"{dropped} judgments repeat"
        flags = [*flags, Flag("duplicate_judgments", f"{said} an earlier one with the same grade; dropped.")]
        query, doc, grade = query[kept], doc.gather(kept), grade[kept]
        if isinstance(source.line_of, LineMap):
            source = replace(source, line_of=replace(source.line_of, kept=kept))
    return Qrels(queries, query, doc.alias("doc"), np.ascontiguousarray(grade, dtype=np.int64), source, tuple(flags))
