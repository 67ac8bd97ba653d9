"""Where rows go as they are made: into memory, a folder of Parquet parts, or a file of JSON Lines that grows.

What was reported done survives a stop at any moment: a part is written beside its place and moved there, lines are
written through to the disk batch by batch, and what a stop cut off is dropped when the work goes on.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from falsify_adapters.errors import InputError, OptionError

Row = Mapping[str, Any]
MANIFEST = "manifest.json"


class Sink(Protocol):
    """Takes batches, numbered from 0, in any order. pack: from number and rows to what `put` takes, called where the
    rows are made, so that a worker does that part too."""

    @property
    def pack(self) -> Callable[[int, Sequence[Row]], Any]: ...

    def done(self) -> set[int]:
        """The batches that are there already."""

    def put(self, batch: int, packed: Any) -> None:
        """Keep a batch. When this returns, it is safe."""


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

    def rows(self) -> list[Row]:
        """All rows in the order of the batches."""
        return [row for n in sorted(self.batches) for row in self.batches[n]]


class Parts:
    """A folder of part-00000.parquet and so on, one a batch, and a manifest that says what was asked."""

    pack = staticmethod(_parquet)

    def __init__(self, folder: str, plan: Mapping[str, Any], *, resume: bool) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"cannot be made: {error.strerror or error}", where=f"-o {folder}") from None
        if not resume and any(self.folder.glob("part-*.parquet")):
            raise OptionError(
                "holds parts of an earlier audit", where=f"-o {folder}", legal="an empty folder",
                mend="Go on from there with --resume, or remove them.",
            )  # fmt: skip
        for torn in self.folder.glob(".part-*"):
            torn.unlink()
        _same_plan(self.folder / MANIFEST, plan, resume)

    def done(self) -> set[int]:
        return {int(path.stem.removeprefix("part-")) for path in self.folder.glob("part-*.parquet")}

    def put(self, batch: int, packed: bytes) -> None:
        beside = self.folder / f".part-{batch:05d}"
        beside.write_bytes(packed)
        _to_disk(beside)
        beside.replace(self.folder / f"part-{batch:05d}.parquet")

    def rows(self) -> list[Row]:
        """All rows in the order of the batches, read back."""
        import polars as pl

        parts = sorted(self.folder.glob("part-*.parquet"))
        return [row for part in parts for row in pl.read_parquet(part).to_dicts()]


class Lines:
    """A file of JSON Lines, one row a line with the number of its batch, and beside it FILE.manifest.json."""

    pack = staticmethod(_lines)

    def __init__(self, path: str, plan: Mapping[str, Any], *, resume: bool) -> None:
        self.path = Path(path)
        if not resume and self.path.exists() and self.path.stat().st_size:
            raise OptionError(
                "exists already", where=f"-o {path}", mend="Go on from there with --resume, or give another name."
            )
        _same_plan(self.path.with_name(f"{self.path.name}.manifest.json"), plan, resume)
        self._done = self._recover() if resume and self.path.exists() else set()

    def _recover(self) -> set[int]:
        """Keep the batches that end with their mark; drop what a stop cut off."""
        kept, batch, whole = [], [], set()
        for line in self.path.read_bytes().splitlines(keepends=True):
            if not line.endswith(b"\n"):
                break
            try:
                row = json.loads(line)
                number, last = int(row["batch"]), bool(row["last"])
            except (ValueError, KeyError, TypeError):
                break
            batch.append(line)
            if last:
                kept += batch
                whole.add(number)
                batch = []
        beside = self.path.with_name(f".{self.path.name}")
        beside.write_bytes(b"".join(kept))
        _to_disk(beside)
        beside.replace(self.path)
        return whole

    def done(self) -> set[int]:
        return self._done

    def put(self, batch: int, packed: bytes) -> None:  # noqa: ARG002 - the number stands in the lines
        with self.path.open("ab") as file:
            file.write(packed)
            file.flush()
            os.fsync(file.fileno())

    def rows(self) -> list[Row]:
        """All rows in the order of the batches, read back without the marks."""
        found = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]
        found.sort(key=lambda row: row["batch"])
        return [{key: value for key, value in row.items() if key not in ("batch", "last")} for row in found]


def frame(rows: Sequence[Row]) -> Any:
    """Rows as a polars frame whose columns have one type, whatever a batch holds."""
    import polars as pl

    types: dict[str, Any] = {
        "score": pl.Float64, "floor": pl.List(pl.Float64), "ceiling": pl.Float64, "headroom_used": pl.Float64,
        "queries": pl.Int64, "n": pl.Float64, "gold": pl.Float64, "doubts": pl.List(pl.String),
    }  # fmt: skip
    names = list(rows[0]) if rows else []
    return pl.DataFrame(list(rows), schema={name: types.get(name, pl.String) for name in names})


def _same_plan(path: Path, plan: Mapping[str, Any], resume: bool) -> None:
    """Write what was asked for, or hold it against what an earlier call was asked for. Raises InputError."""
    text = json.dumps(plan, indent=2, sort_keys=True) + "\n"
    if resume and path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        now, then = ({**made, **made.get("settings", {})} for made in (plan, before))
        differ = sorted(k for k in {*now, *then} - {"settings"} if now.get(k) != then.get(k))
        if differ:
            raise InputError(
                f"was begun with another {', '.join(differ)}", where=str(path), legal="the same files and options",
                mend="Give the options of the first call, or another -o.",
            )  # fmt: skip
        return
    path.write_text(text, encoding="utf-8")


def _to_disk(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
