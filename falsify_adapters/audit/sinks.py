"""Where rows go as they are made: into memory, a folder of Parquet parts, or a file of JSON Lines that grows.

What was reported done survives a stop at any moment: a part is written beside its place and moved there, lines are
written through to the disk batch by batch, and what a stop cut off is dropped when the work goes on.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from falsify_adapters.errors import InputError, OptionError

Row = Mapping[str, Any]
MANIFEST = "manifest.json"
_PART = re.compile(r"part-(\d{5,})\.parquet")


class Sink(Protocol):
    """Takes batches, numbered from 0, in any order. pack: from number and rows to what `put` takes, called where the
    rows are made, so that a worker does that part too."""

    @property
    def pack(self) -> Callable[[int, Sequence[Row]], Any]: ...

    def done(self) -> set[int]:
        """The batches that are there already."""

    def put(self, batch: int, packed: Any) -> None:
        """Keep a batch. When this returns, it is safe."""

    def __iter__(self) -> Iterator[Row]:
        """All rows, in the order of the batches."""


def _as_they_are(_batch: int, rows: Sequence[Row]) -> Sequence[Row]:
    return rows


def _parquet(_batch: int, rows: Sequence[Row]) -> bytes:
    out = io.BytesIO()
    frame(rows).write_parquet(out, statistics=False)
    return out.getvalue()


def _lines(batch: int, rows: Sequence[Row]) -> bytes:
    marked = ({**row, "batch": batch, "last": n == len(rows)} for n, row in enumerate(rows, 1))
    return "".join(json.dumps(line, allow_nan=False) + "\n" for line in marked).encode()


class Memory:
    """Rows in memory, by batch."""

    pack = staticmethod(_as_they_are)

    def __init__(self) -> None:
        self.batches: dict[int, list[Row]] = {}

    def done(self) -> set[int]:
        return set()

    def put(self, batch: int, packed: Sequence[Row]) -> None:
        self.batches[batch] = list(packed)

    def __iter__(self) -> Iterator[Row]:
        """All rows, in the order of the batches."""
        return (row for n in sorted(self.batches) for row in self.batches[n])


class Parts:
    """A folder of part-00000.parquet and so on, one a batch, and a manifest that says what was asked."""

    pack = staticmethod(_parquet)

    def __init__(self, folder: str, plan: Mapping[str, Any], *, resume: bool) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"cannot be made: {error.strerror or error}", where=f"-o {folder}") from None
        there = bool(self._parts())
        if not resume and there:
            raise OptionError(
                "holds parts of an earlier audit", where=f"-o {folder}", legal="an empty folder",
                mend="Go on from there with --resume, or remove them.",
            )  # fmt: skip
        for torn in self.folder.glob(".part-*"):
            torn.unlink(missing_ok=True)
        _same_plan(self.folder / MANIFEST, plan, there)

    def _parts(self) -> dict[int, Path]:
        found = ((_PART.fullmatch(path.name), path) for path in self.folder.iterdir())
        return dict(sorted((int(match[1]), path) for match, path in found if match))

    def done(self) -> set[int]:
        return set(self._parts())

    def put(self, batch: int, packed: bytes) -> None:
        _write(self.folder / f"part-{batch:05d}.parquet", packed)

    def __iter__(self) -> Iterator[Row]:
        """All rows, in the order of the batches, read back a part at a time."""
        import polars as pl

        for part in self._parts().values():
            yield from pl.read_parquet(part).iter_rows(named=True)


class Lines:
    """A file of JSON Lines, one row a line with the number of its batch, and beside it FILE.manifest.json. Batches
    stand in the order in which they were done."""

    pack = staticmethod(_lines)

    def __init__(self, path: str, plan: Mapping[str, Any], *, resume: bool) -> None:
        self.path = Path(path)
        if self.path.exists() and not self.path.is_file():
            raise OptionError("is no file that could grow", where=f"-o {path}", legal="a file on a disk")
        there = self.path.exists() and self.path.stat().st_size > 0
        if not resume and there:
            raise OptionError(
                "exists already", where=f"-o {path}", mend="Go on from there with --resume, or give another name."
            )
        _same_plan(self.path.with_name(f"{self.path.name}.{MANIFEST}"), plan, there)
        self._done = self._recover() if there else set()

    def _recover(self) -> set[int]:
        """Keep the lines up to the last batch that ends with its mark; cut off what a stop left after them."""
        end, place, whole = 0, 0, set()
        with self.path.open("rb") as file:
            for line in file:
                place += len(line)
                try:
                    row = json.loads(line) if line.endswith(b"\n") else {}
                    number, last = int(row["batch"]), bool(row["last"])
                except (ValueError, KeyError, TypeError):
                    break
                if last:
                    end = place
                    whole.add(number)
        os.truncate(self.path, end)
        return whole

    def done(self) -> set[int]:
        return self._done

    def put(self, batch: int, packed: bytes) -> None:  # noqa: ARG002 - the number stands in the lines
        try:
            with self.path.open("ab") as file:
                file.write(packed)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise _unwritten(self.path, error) from None

    def __iter__(self) -> Iterator[Row]:
        """All rows without their marks, in the order of the batches, read back a batch at a time."""
        starts: dict[int, int] = {}
        with self.path.open("rb") as file:
            place = 0
            for line in file:
                starts.setdefault(json.loads(line)["batch"], place)
                place += len(line)
            for _, start in sorted(starts.items()):
                file.seek(start)
                last = False
                while not last:
                    row = json.loads(file.readline())
                    last = row.pop("last")
                    del row["batch"]
                    yield row


def frame(rows: Sequence[Row]) -> Any:
    """Rows as a polars frame whose columns have one type, whatever a batch holds."""
    import polars as pl

    types: dict[str, Any] = {
        "score": pl.Float64, "floor": pl.List(pl.Float64), "ceiling": pl.Float64, "headroom_used": pl.Float64,
        "queries": pl.Int64, "n": pl.Float64, "gold": pl.Float64, "doubts": pl.List(pl.String),
    }  # fmt: skip
    names = list(rows[0]) if rows else []
    return pl.DataFrame(list(rows), schema={name: types.get(name, pl.String) for name in names})


def _same_plan(path: Path, plan: Mapping[str, Any], there: bool) -> None:
    """Write what was asked for or, where rows of an earlier call are there, hold it against what that was asked for.
    Raises InputError."""
    if not there:
        _write(path, (json.dumps(plan, indent=2, sort_keys=True) + "\n").encode())
        return
    try:
        before = json.loads(path.read_bytes())
        now, then = ({**made, **made.get("settings", {})} for made in (plan, before))
    except (OSError, ValueError, TypeError, AttributeError):
        raise InputError(
            "does not say what the rows beside it were asked for", where=str(path),
            mend="Begin anew with another -o.",
        ) from None  # fmt: skip
    differ = sorted(k for k in {*now, *then} - {"settings"} if now.get(k) != then.get(k))
    if differ:
        raise InputError(
            f"was begun with another {', '.join(differ)}", where=str(path), legal="the same files and options",
            mend="Give the options of the first call, or another -o.",
        )  # fmt: skip


def _write(path: Path, data: bytes) -> None:
    """A whole file or none, on the disk when this returns. Raises OptionError."""
    beside = path.with_name(f".{path.name}")
    try:
        with beside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)  # the new name
        finally:
            os.close(folder)
    except OSError as error:
        raise _unwritten(path, error) from None


def _unwritten(path: Path, error: OSError) -> OptionError:
    return OptionError(f"cannot be written: {error.strerror or error}", where=str(path))
