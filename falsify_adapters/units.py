"""From chunk ids to document ids: what is ranked in chunks is scored in documents.

A document takes the position of its best chunk (MaxP); its later chunks are dropped. Ranking, cutoffs, N and K are in
documents afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from falsify_adapters.errors import InputError, OptionError

if TYPE_CHECKING:
    import polars as pl

LOOKED_AT = 10_000  # ids in which a separator is looked for


@dataclass(frozen=True, slots=True)
class Units:
    """A mapping from chunk ids to document ids. apply: a polars Series of ids -> one of document ids, null where an
    id has none; name: how messages and the report call it; path: the file that it was read from, if any."""

    name: str
    apply: Callable[[pl.Series], pl.Series]
    path: str | None = None

    def documents(self, ids: pl.Series, where: str) -> pl.Series:
        """Document id of each chunk id. Raises InputError where one has none."""
        docs = self.apply(ids)
        lost = docs.is_null() | (docs == "")
        if lost.any():
            first = ids.filter(lost)[0]
            raise InputError(
                f"{int(lost.sum())} of {len(ids)} ids have no document under {self.name}, {first!r} for one",
                where=where,
                legal="a mapping that gives every id its document",
            )
        return docs


def by_separator(separator: str) -> Units:
    """The document id is what stands before the last separator; an id without one is a document of one chunk."""
    if not separator:
        raise OptionError("an empty separator", where="--unit-sep", legal="one or more characters, such as #")

    def apply(ids: pl.Series) -> pl.Series:
        # (?s): an id may hold anything but blanks; the first group is greedy, so the last separator is the one.
        return ids.str.replace(f"(?s)^(.+){re.escape(separator)}.*$", "${1}")

    return Units(f"separator {separator!r}", apply)


def by_regex(pattern: str) -> Units:
    """The document id is the group named `doc`, else the first group, else the whole match, from the id's start."""
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise OptionError(f"{pattern!r} is not a regular expression: {error}", where="--unit-regex") from None
    group: int | str = "doc" if "doc" in compiled.groupindex else min(compiled.groups, 1)

    def apply(ids: pl.Series) -> pl.Series:
        import polars as pl

        distinct = ids.unique()
        found = [m.group(group) if (m := compiled.match(i)) else None for i in distinct.to_list()]
        return ids.replace_strict(distinct, pl.Series(found, dtype=pl.String), default=None)

    return Units(f"regular expression {pattern!r}", apply)


def by_map(path: str) -> Units:
    """A file of two columns, chunk id and document id (plain or .gz)."""
    from falsify_adapters.textfile import lines

    table: dict[str, str] = {}
    for number, line in lines(path, option="--unit-map"):
        fields = re.split("[ \t]+", line)
        if len(fields) != 2:
            raise InputError(
                f"{len(fields)} fields in {line[:80]!r}", where=path, line=number, legal="chunk id and document id"
            )
        if table.setdefault(fields[0], fields[1]) != fields[1]:
            raise InputError(
                f"chunk {fields[0]!r} belongs to {table[fields[0]]!r} and to {fields[1]!r}", where=path, line=number,
                legal="one document per chunk",
            )  # fmt: skip
    return replace(by_table(table, f"map {path}"), path=path)


def by_table(table: Mapping[str, str], name: str = "map") -> Units:
    """A mapping in memory."""
    if not table:
        raise InputError("the unit map is empty", where=name)

    def apply(ids: pl.Series) -> pl.Series:
        import polars as pl

        keys = pl.Series(list(table), dtype=pl.String)
        values = pl.Series(list(table.values()), dtype=pl.String)
        return ids.replace_strict(keys, values, default=None)

    return Units(name, apply)


def by_function(function: Callable[[str], str], name: str = "function") -> Units:
    """A callable from chunk id to document id."""

    def apply(ids: pl.Series) -> pl.Series:
        import polars as pl

        distinct = ids.unique()
        found = [function(i) for i in distinct.to_list()]
        return ids.replace_strict(distinct, pl.Series(found, dtype=pl.String), default=None)

    return Units(name, apply)


def suggest(ids: pl.Series, docs: pl.Series) -> tuple[str, int, int] | None:
    """The separator under which most distinct `ids` are chunks of known `docs`: (separator, explained, distinct ids);
    None where none explains any. For messages: an id is never split unasked."""
    known = set(docs.to_list())
    marks = {
        mark.group()
        for doc in ids.head(LOOKED_AT).to_list()
        for mark in re.finditer(r"[\W_]+", doc)
        if doc[: mark.start()] in known
    }
    distinct, judged = ids.unique(), docs.unique().implode()
    found = [(int(by_separator(mark).apply(distinct).is_in(judged).sum()), mark) for mark in sorted(marks)]
    explained, mark = max(found, default=(0, ""))
    return (mark, explained, len(distinct)) if explained else None
