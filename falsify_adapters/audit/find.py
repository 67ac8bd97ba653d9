"""The result files of a tree, an archive or a single file, as items with their bytes."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from falsify_adapters.audit.results import LARGEST, named
from falsify_adapters.errors import InputError, MissingInputError, OptionError

META = "model_meta.json"
LEGAL = "a tree of result files (MODEL/REVISION/TASK.json), a .tar.gz of one, or one file"


@dataclass(frozen=True, slots=True)
class Tree:
    """Where results are. root: a folder, an archive or a file; items: paths in it, ascending, `/` between folders."""

    root: str
    items: tuple[str, ...]

    @property
    def archive(self) -> bool:
        return self.root.endswith((".tar.gz", ".tgz", ".tar"))

    def read(self, item: str) -> bytes | str:
        """The bytes of an item of a folder, or why it cannot be read."""
        path = Path(self.root) / item if Path(self.root).is_dir() else Path(self.root)
        try:
            size = path.stat().st_size
            return (
                path.read_bytes() if size <= LARGEST else f"{size} bytes, and a file of results has at most {LARGEST}"
            )
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"

    def stream(self) -> Iterator[tuple[str, bytes | str]]:
        """Every item of an archive with its bytes, in its order. Raises InputError where it is broken."""
        wanted = set(self.items)
        for name, member, archive in _members(self.root):
            if name in wanted:
                file = archive.extractfile(member)
                if member.size > LARGEST or file is None:
                    yield name, f"{member.size} bytes, and a file of results has at most {LARGEST}"
                else:
                    yield name, file.read()


def find(path: str, tasks: Sequence[str] = (), models: Sequence[str] = ()) -> Tree:
    """The items of a path whose task and model fit one of the patterns (`*` and `?`, case counts); no file is read.

    Raises MissingInputError, InputError, and OptionError where nothing fits.
    """
    source = Path(path)
    if not source.exists():
        raise MissingInputError(f"there is no file {path!r}", where="PATH", legal=LEGAL)
    if source.is_dir():
        found = _walk(source)
    elif path.endswith((".tar.gz", ".tgz", ".tar")):
        found = [name for name, _, _ in _members(path)]
    else:
        found = [source.name]
    found = sorted(item for item in found if item.endswith(".json") and Path(item).name != META)
    if not found:
        raise InputError("holds no .json file of results", where=path, legal=LEGAL)
    kept = [item for item in found if _fits(item, tasks, models)]
    if not kept:
        raise OptionError(
            f"none of the {len(found)} result files fits", where="--task, --model",
            legal=f"patterns such as *Reranking or {named(found[0]).model or 'openai/*'}",
        )  # fmt: skip
    return Tree(path, tuple(kept))


def _fits(item: str, tasks: Sequence[str], models: Sequence[str]) -> bool:
    where = named(item)
    fine = not tasks or any(fnmatchcase(where.task, pattern) for pattern in tasks)
    return fine and (not models or any(fnmatchcase(where.model, pattern) for pattern in models))


def _walk(root: Path) -> list[str]:
    """Files below a folder; a link to a folder above itself is not followed again."""
    out, seen = [], set()
    for folder, below, files in os.walk(root, followlinks=True):
        here = Path(folder).stat()
        if (here.st_dev, here.st_ino) in seen:
            below.clear()
            continue
        seen.add((here.st_dev, here.st_ino))
        below.sort()
        out += [Path(folder, name).relative_to(root).as_posix() for name in files]
    return out


def _members(path: str) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile():
                    yield member.name.removeprefix("./"), member, archive
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputError(f"cannot be read as an archive: {error}", where=path, legal=LEGAL) from None
