"""Small text files of ids (pools, unit maps, query lists): their lines, with numbers, plain or .gz."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from falsify_adapters.errors import InputError, MissingInputError

LEGAL = "a text file, plain or .gz"


def lines(path: str, *, option: str, legal: str = LEGAL) -> list[tuple[int, str]]:
    """(number, stripped line) of every line that is neither blank nor a comment (#). Raises MissingInputError or
    InputError, naming the option that the path was given to."""
    try:
        data = Path(path).read_bytes()
        text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("utf-8-sig")
    except FileNotFoundError:
        raise MissingInputError(f"there is no file {path!r}", where=option, legal=legal) from None
    except IsADirectoryError:
        raise InputError("is a folder", where=path, legal=LEGAL, mend="Name a file inside it.") from None
    except (OSError, ValueError, EOFError, zlib.error) as error:
        raise InputError(f"cannot be read as text: {error}", where=path, legal=f"UTF-8, {LEGAL}") from None
    numbered = ((n, line.strip(" \t\r")) for n, line in enumerate(text.split("\n"), start=1))
    return [(n, line) for n, line in numbered if line and not line.startswith("#")]
