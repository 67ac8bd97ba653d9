"""One source as a stream of bytes: opened once, decompressed, its digest taken as the bytes pass."""

from __future__ import annotations

import hashlib
import sys
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

from falsify_adapters.errors import InputError, MissingInputError

BLOCK = 1 << 24
LONGEST_LINE = 1 << 24
LARGEST = 1 << 34
_HEAD = 1 << 16
_COMPRESSED_CHUNK = 1 << 22
_GZIP = b"\x1f\x8b"

# First bytes of what is refused with a cure, instead of being called binary.
_REFUSED = (
    (b"\x28\xb5\x2f\xfd", "zstd", "Unpack it first (zstd -d)."),
    (b"BZh", "bzip2", "Unpack it first (bunzip2)."),
    (b"\xfd7zXZ\x00", "xz", "Unpack it first (unxz)."),
    (b"PK\x03\x04", "a zip archive", "Unpack it first (unzip) and name the file inside."),
)


class Stream:
    """The decompressed bytes of one source. Read once, by `blocks` or `whole`; then `sha256` is known.

    label: what messages and `Source.path` call it; head: the first bytes, for telling formats apart.
    Raises InputError for compressions other than gzip, broken gzip, and more than 16 GiB.
    """

    def __init__(self, read: Callable[[int], bytes], label: str, *, digest: bool, close: Callable[[], None]) -> None:
        self.label = label
        self._close = close
        self._stored = _Stored(read, digest)
        first = self._stored.read(BLOCK)
        for magic, kind, mend in _REFUSED:
            if first.startswith(magic) and not (magic == b"BZh" and first[4:10] != b"1AY&SY"):
                raise InputError(f"compressed as {kind}", where=label, legal="plain text or gzip", mend=mend)
        pieces = self._inflate(first) if first.startswith(_GZIP) else self._plain(first)
        self._pieces = self._gathered(pieces)
        self._first = next(self._pieces, b"")
        self.head = self._first[:_HEAD]
        if b"\r" in self.head and b"\n" not in self._first and b"\x00" not in self.head:
            raise InputError(
                "its lines end in lone carriage returns", where=label, legal="lines that end in \\n or \\r\\n",
                mend="Convert it (tr '\\r' '\\n').",
            )  # fmt: skip

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stored.stop()
        self._close()

    def blocks(self) -> Iterator[bytes]:
        """Blocks of whole lines, each ending in a newline; one longer than LONGEST_LINE may come without its end."""
        rest = b""
        for piece in self._all():
            cut = piece.rfind(b"\n") + 1
            if cut:
                yield rest + memoryview(piece)[:cut]
                rest = piece[cut:]
            else:
                rest += piece
            if len(rest) > LONGEST_LINE:
                yield rest
                rest = b""
        if rest:
            yield rest + b"\n"

    def whole(self) -> bytes:
        """Everything, for formats that are not made of lines."""
        return b"".join(self._all())

    def sha256(self) -> str | None:
        """Hexadecimal digest of the bytes as stored, compressed where they are; None for text already decoded."""
        return self._stored.sha256()

    def _all(self) -> Iterator[bytes]:
        first, self._first = self._first, b""
        if first:
            yield first
        yield from self._pieces

    def _plain(self, first: bytes) -> Iterator[bytes]:
        piece = first
        while piece:
            yield piece
            piece = self._stored.read(BLOCK)

    def _inflate(self, chunk: bytes) -> Iterator[bytes]:
        """Gzip members one after the other; zero bytes behind the last are padding, as for gzip itself."""
        member = zlib.decompressobj(wbits=31)
        while True:
            try:
                piece = member.decompress(chunk, BLOCK)
            except zlib.error as error:
                self._bad_gzip(str(error), error)
            if piece:
                yield piece
            chunk = member.unconsumed_tail
            if member.eof:
                chunk = (member.unused_data or self._stored.read(_COMPRESSED_CHUNK)).lstrip(b"\x00")
                while not chunk:
                    chunk = self._stored.read(_COMPRESSED_CHUNK)
                    if not chunk:
                        return
                    chunk = chunk.lstrip(b"\x00")
                member = zlib.decompressobj(wbits=31)
            elif not chunk:
                chunk = self._stored.read(_COMPRESSED_CHUNK)
                if not chunk:
                    self._bad_gzip("it ends in the middle", None)

    def _bad_gzip(self, why: str, error: Exception | None) -> None:
        mend = "Fetch the file again, or test it with gzip -t."
        raise InputError(f"gzip that cannot be read: {why}", where=self.label, mend=mend) from error

    def _gathered(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Pieces of a block or more, none but the last smaller: gzip members may be tiny, or empty."""
        total, size, parts = 0, 0, list[bytes]()
        for piece in pieces:
            parts.append(piece)
            size += len(piece)
            if size >= max(BLOCK, _HEAD) // 2:
                total += size
                yield b"".join(parts) if len(parts) > 1 else piece
                size, parts = 0, []
            if total > LARGEST:
                mend = "Split it by query, or cut the lists at the depth that the measure sees."
                raise InputError(f"more than {LARGEST >> 30} GiB of text", where=self.label, mend=mend)
        if parts:
            yield b"".join(parts)


class _Stored:
    """Reads full chunks of the stored bytes and hashes them in a thread, one chunk behind."""

    def __init__(self, read: Callable[[int], bytes], digest: bool) -> None:
        self._read = read
        self._hash = hashlib.sha256() if digest else None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="digest") if digest else None
        self._pending: Future[None] | None = None

    def read(self, size: int) -> bytes:
        parts = []
        while size > 0 and (part := self._read(size)):
            parts.append(part)
            size -= len(part)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if data and self._thread is not None and self._hash is not None:
            if self._pending is not None:
                self._pending.result()
            self._pending = self._thread.submit(self._hash.update, data)
        return data

    def sha256(self) -> str | None:
        if self._hash is None:
            return None
        while self.read(BLOCK):
            pass
        if self._pending is not None:
            self._pending.result()
        return self._hash.hexdigest()

    def stop(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()


def open_path(path: str | Path) -> Stream:
    """A file by its path; "-" is standard input.

    Raises MissingInputError where there is no such file or it cannot be opened, InputError for a folder.
    """
    label = str(path)
    if label == "-":
        return open_file(sys.stdin.buffer, "-")
    if not label:
        raise MissingInputError("the path is empty", legal="a path, or - for standard input")
    try:
        file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - the stream closes it
    except IsADirectoryError:
        raise InputError("is a folder", where=label, legal="a file", mend="Name one of the files inside it.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        missing = isinstance(error, FileNotFoundError)
        mend = f"Check the path; it is looked up from {Path.cwd()}." if missing and not Path(path).is_absolute() else ""
        what = "there is no such file" if missing else f"cannot be opened: {why}"
        raise MissingInputError(
            what, where=shown_label(label), mend=mend or "Check the path and its permissions."
        ) from error
    try:
        return Stream(file.read, label, digest=True, close=file.close)
    except BaseException:
        file.close()
        raise


def shown_label(label: str) -> str:
    """A path that can be printed in one line, whatever is in it."""
    return label if label.isprintable() else ascii(label)


def open_file(file: Any, label: str | None = None) -> Stream:
    """An open text or binary file, read from where it stands to its end; it is not closed."""
    name = label or getattr(file, "name", None)
    label = name if isinstance(name, str) else f"<{type(file).__name__}>"
    try:
        sample = file.read(0)
    except (OSError, ValueError) as error:
        mend = "Open it for reading, and read it before it is closed."
        raise InputError(f"cannot be read: {error}", where=label, mend=mend) from error
    if isinstance(sample, str):
        # Surrogates pass here and are refused, with their line, as the bad UTF-8 that they are.
        return Stream(lambda n: file.read(n).encode(errors="surrogatepass"), label, digest=False, close=_leave_open)
    return Stream(file.read, label, digest=True, close=_leave_open)


def _leave_open() -> None:
    """Files that were handed to us stay open."""
