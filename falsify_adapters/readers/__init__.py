"""Reading runs and qrels, from files and from objects in memory. Nothing heavy is imported before something is read."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal, cast

from falsify_adapters.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from falsify_adapters.model import Qrels, Run
    from falsify_adapters.readers.streams import Stream

    Reader = Callable[[Stream, Literal["qrels", "run"], str | None], Qrels | Run]

__all__ = ["FORMATS", "Format", "read_qrels", "read_run"]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format. target: "module:function", the function (stream, "qrels" | "run", name) -> Qrels | Run."""

    name: str
    summary: str
    target: str


FORMATS = (
    Format("trec", "TREC runs (6 columns) and qrels (4 columns)", "falsify_adapters.readers.trec:read_trec"),
    Format("beir", "BEIR's qrels, three columns with a header", "falsify_adapters.readers.trec:read_beir"),
    Format("msmarco", "MS MARCO's runs of 3 or 4 columns", "falsify_adapters.readers.trec:read_msmarco"),
    Format(
        "ranx-json", "ranx's and BEIR's {query: {document: value}}", "falsify_adapters.readers.ranx_files:read_json"
    ),
    Format("ranx-parquet", "ranx's Parquet files", "falsify_adapters.readers.ranx_files:read_parquet"),
    Format("ranx-lz4", "ranx's lz4 files", "falsify_adapters.readers.ranx_files:read_lz4"),
)

_MAGIC = ((b"PAR1", "ranx-parquet"), (b"\x04\x22\x4d\x18", "ranx-lz4"))


def read_qrels(source: object, *, name: str | None = None, format: str | Reader | None = None) -> Qrels:
    """Qrels from a path ("-": standard input), an open file, a dict of dicts, a frame, an iterable or a ranx.Qrels.

    name: what messages and `Source.path` call an object in memory; format: one of FORMATS' names or a function
    like theirs, a plugin's; told by the first bytes where None.
    Raises MissingInputError, InputError, NotInstalledError.
    """
    return cast("Qrels", _read(source, "qrels", name, format))


def read_run(source: object, *, name: str | None = None, format: str | Reader | None = None) -> Run:
    """A run, from the same kinds of source as `read_qrels`.

    name: the run's name, the file's name without its ending where None; format: as in `read_qrels`.
    Raises MissingInputError, InputError, NotInstalledError.
    """
    return cast("Run", _read(source, "run", name, format))


def _read(source: object, what: Literal["qrels", "run"], name: str | None, format: str | Reader | None) -> Qrels | Run:
    from os import PathLike
    from pathlib import Path

    from falsify_adapters.readers import streams

    if isinstance(format, str) and format not in {known.name for known in FORMATS}:
        legal = ", ".join(known.name for known in FORMATS)
        raise OptionError(f"there is no format {format!r}", where="format", legal=legal)
    if isinstance(source, (str, PathLike)):
        stream = streams.open_path(source if isinstance(source, str) else Path(source))
    elif callable(getattr(source, "read", None)):
        stream = streams.open_file(source)
    else:
        from falsify_adapters.readers.objects import read_object

        return read_object(source, what, name)
    with stream:
        reader = format if callable(format) else _load(format or _sniff(stream, what))
        return reader(stream, what, name)


def _sniff(stream: Stream, what: Literal["qrels", "run"]) -> str:
    from falsify_adapters.readers import trec

    for magic, kind in _MAGIC:
        if stream.head.startswith(magic):
            return kind
    if stream.head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{":
        return "ranx-json"
    return trec.sniff(stream, what)


def _load(format: str) -> Reader:
    target = next(known.target for known in FORMATS if known.name == format)
    module, _, function = target.partition(":")
    reader: Reader = getattr(import_module(module), function)
    return reader
