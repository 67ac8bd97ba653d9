"""The result files of a tree, an archive or a single file, as items with their bytes."""

from __future__ import annotations

import os
import stat
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from falsify_adapters.audit.results import LARGEST, named
from falsify_adapters.errors import InputError, MissingInputError, OptionError

META = "model_meta.json"
LEGAL = "a tree of result files (MODEL/REVISION/TASK.json), a .tar.gz of one, or one file"
ARCHIVES = (".tar.gz", ".tgz", ".tar")


@dataclass(frozen=True, slots=True)
class Tree:
    """Where results are. root: a folder, an archive or a file; items: paths in it with `/` between folders, ascending,
    those of an archive in its order."""

    root: str
    items: tuple[str, ...]

    @property
    def archive(self) -> bool:
        return self.root.endswith(ARCHIVES) and not Path(self.root).is_dir()

    def read(self, item: str) -> bytes | str:
        """The bytes of an item of a folder, or why it cannot be read."""
        path = Path(self.root) / item if Path(self.root).is_dir() else Path(self.root)
        try:
            known = path.stat()
            if stat.S_ISDIR(known.st_mode):
                return "a folder that cannot be listed"
            if not stat.S_ISREG(known.st_mode):
                return "no file, but a pipe or a device"  # reading it might never end
            return path.read_bytes() if known.st_size <= LARGEST else _too_large(known.st_size)
        except OSError as error:
            return f"cannot be read: {error.strerror or error}"

    def stream(self) -> Iterator[tuple[str, bytes | str]]:
        """Every item of an archive with its bytes, in its order. Raises InputError where it is broken."""
        wanted = set(self.items)
        for name, member, archive in _members(self.root):
            if name not in wanted:
                continue
            try:
                file = archive.extractfile(member)  # follows links
                data = None if file is None else file.read(LARGEST + 1)
            except KeyError:
                data = None
            if data is None:
                yield name, "cannot be read: a link to what is not in the archive"
            else:
                yield name, data if len(data) <= LARGEST else _too_large(max(member.size, len(data)))


def _too_large(size: int) -> str:
    return f"{size} bytes, and a file of results has at most {LARGEST}"


def find(path: str) -> Tree:
    """The items of a path, by their names alone: no file is read. A folder that cannot be listed is an item too.

    Raises MissingInputError, InputError.
    """
    source = Path(path)
    if not source.exists():
        raise MissingInputError(f"there is no file {path!r}", where="PATH", legal=LEGAL)
    closed: list[str] = []
    if source.is_dir():
        found, closed = _walk(source)
    elif path.endswith(ARCHIVES):
        found = [name for name, _, _ in _members(path)]
    else:
        found = [source.name]
    if "." in closed:
        raise InputError("cannot be listed", where=path, legal=LEGAL)
    items = [item for item in found if item.endswith(".json") and item.rpartition("/")[2] != META] + closed
    if not items:
        raise InputError("holds no .json file of results", where=path, legal=LEGAL)
    if source.is_dir():
        return Tree(path, tuple(sorted(items)))
    if len(set(items)) < len(items):
        twice = next(item for item, n in Counter(items).items() if n > 1)
        raise InputError(
            f"holds {twice!r} twice", where=path, legal="an archive with each file once",
            mend="Unpack it, which keeps the last, and give the folder.",
        )  # fmt: skip
    return Tree(path, tuple(items))


def fitting(tree: Tree, tasks: Sequence[str], models: Sequence[str]) -> Tree:
    """The items whose task and model fit one of the patterns (`*` and `?`, case counts), all of them where there is no
    pattern. Raises OptionError where nothing fits."""
    kept = tuple(item for item in tree.items if _fits(item, tasks, models)) if tasks or models else tree.items
    if not kept:
        raise OptionError(
            f"none of the {len(tree.items)} result files fits", where="--task, --model",
            legal=f"patterns such as *Reranking or {named(tree.items[0]).model or 'openai/*'}",
        )  # fmt: skip
    return Tree(tree.root, kept)


def _fits(item: str, tasks: Sequence[str], models: Sequence[str]) -> bool:
    where = named(item)
    fine = not tasks or any(fnmatchcase(where.task, pattern) for pattern in tasks)
    return fine and (not models or any(fnmatchcase(where.model, pattern) for pattern in models))


def _walk(root: Path) -> tuple[list[str], list[str]]:
    """Files below a folder, and folders that cannot be listed. Links are followed, but not to a folder above."""
    files: list[str] = []
    closed: list[str] = []
    above: dict[str, frozenset[tuple[int, int]]] = {}

    def unlisted(error: OSError) -> None:
        closed.append(Path(error.filename).relative_to(root).as_posix())

    for folder, below, names in os.walk(root, onerror=unlisted, followlinks=True):
        here = Path(folder).stat()
        over = above.pop(folder, frozenset())
        if (here.st_dev, here.st_ino) in over:
            below.clear()
            continue
        above |= {os.path.join(folder, name): over | {(here.st_dev, here.st_ino)} for name in below}  # noqa: PTH118
        inside = Path(folder).relative_to(root).as_posix()
        files += names if inside == "." else [f"{inside}/{name}" for name in names]
    return files, closed


def _members(path: str) -> Iterator[tuple[str, tarfile.TarInfo, tarfile.TarFile]]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() or member.islnk() or member.issym():
                    yield member.name.removeprefix("./"), member, archive
    except (OSError, tarfile.TarError, EOFError) as error:
        raise InputError(f"cannot be read as an archive: {error}", where=path, legal=LEGAL) from None
