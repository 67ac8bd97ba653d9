"""The files that ranx saves: JSON, Parquet and lz4. None of them is ever unpickled."""

from __future__ import annotations

import io
import json
from typing import Any

from falsify_adapters.errors import InputError, NotInstalledError
from falsify_adapters.model import Qrels, Run, Source
from falsify_adapters.readers import build, objects
from falsify_adapters.readers.build import What
from falsify_adapters.readers.streams import LARGEST, Stream

_LEGAL = "{query: {document: grade or score}}"


def read_json(stream: Stream, what: What, name: str | None = None) -> Run | Qrels:
    """{query: {document: value}} as JSON, the form of ranx and of BEIR's results; repeated keys are kept as rows."""
    data = stream.whole().removeprefix(b"\xef\xbb\xbf")
    try:
        content = json.loads(data.decode(), object_pairs_hook=objects.Pairs)
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        raise InputError("not UTF-8", where=stream.label, line=line, legal="UTF-8 text") from None
    except json.JSONDecodeError as error:
        mend = "Was it written to the end? JSON Lines are not read here."
        raise InputError(
            f"not legal JSON: {error.msg}", where=stream.label, line=error.lineno, legal=_LEGAL, mend=mend
        ) from None
    except RecursionError:
        raise InputError("JSON that is nested too deeply", where=stream.label, legal=_LEGAL) from None
    return _items(stream, content, what, name)


def _items(stream: Stream, content: Any, what: What, name: str | None) -> Run | Qrels:
    pairs = list(content.items()) if isinstance(content, dict) else content
    if not isinstance(pairs, list) or (not isinstance(content, (dict, objects.Pairs))):
        raise InputError(f"holds a {type(content).__name__}", where=stream.label, legal=_LEGAL)
    name = name or build.run_name(stream.label)
    return objects.read_items(pairs, what, name, Source(stream.label, stream.sha256()))


def read_parquet(stream: Stream, what: What, name: str | None = None) -> Run | Qrels:
    """A Parquet file with the columns q_id, doc_id, score (ranx), or those of ir_measures or PyTerrier."""
    import polars as pl

    try:
        frame = pl.read_parquet(io.BytesIO(stream.whole()))
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).partition("\n")[0]
        mend = "Write it again, or pass the frame itself."
        raise InputError(f"not a legal Parquet file: {reason}", where=stream.label, mend=mend) from error
    name = name or build.run_name(stream.label)
    return objects.read_frame(frame, what, name, Source(stream.label, stream.sha256()))


def read_lz4(stream: Stream, what: What, name: str | None = None) -> Run | Qrels:
    """ranx's lz4 files: CBOR, packed twice into lz4 frames."""
    try:
        import cbor2
        import lz4.frame
    except ImportError as error:
        raise NotInstalledError(
            f"ranx's lz4 files need the package {error.name}",
            where=stream.label,
            mend="pip install 'falsify-adapters[ranx]', or save the run as JSON or Parquet.",
        ) from error
    mend = "Save it again with ranx, or as JSON."
    try:
        data = stream.whole()
        for _ in range(2):
            unpacker = lz4.frame.LZ4FrameDecompressor()
            data = unpacker.decompress(data, max_length=LARGEST)
            if not unpacker.eof:
                size = "it ends in the middle" if unpacker.needs_input else f"more than {LARGEST >> 30} GiB"
                raise InputError(f"lz4 that cannot be read: {size}", where=stream.label, mend=mend)
        content = cbor2.loads(data)
    except (RuntimeError, cbor2.CBORDecodeError) as error:
        raise InputError(f"not an lz4 file of ranx's: {error}", where=stream.label, mend=mend) from error
    return _items(stream, content, what, name)
