"""Random runs over a user's own ids, to be pushed through the user's own scorer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from falsify_adapters.core.sampling import distinct
from falsify_adapters.errors import OptionError
from falsify_adapters.intake import only_queries
from falsify_adapters.pool_files import read_ids
from falsify_adapters.ranking import code_qrels


def write_noise(
    qrels: Any,
    *,
    pool: str | None = None,
    chunks: str | None = None,
    depth: int = 1000,
    seeds: int = 5,
    seed: int = 0,
    output: str | Path = ".",
    queries_file: str | None = None,
) -> list[Path]:
    """Write `seeds` runs, OUTPUT/noise-seed0.run and so on: for every judged query `depth` ids of the file, drawn
    uniformly without replacement, in random order.

    pool: a file of document ids; chunks: of chunk ids (one of the two). seed: the first seed, the next run has the
    next. Returns the paths. Raises FalsifyError.
    """
    from falsify_adapters.readers import read_qrels

    if (pool is None) == (chunks is None):
        raise OptionError(
            "random runs are drawn from a file of ids",
            where="--pool, --chunks",
            legal="--pool FILE with document ids, or --chunks FILE with chunk ids",
            mend="Give one of the two.",
        )
    for name, value in (("depth", depth), ("seeds", seeds)):
        if value < 1:
            raise OptionError(f"{value} is not legal", where=f"--{name}", legal="1 or more")
    option = "--pool" if chunks is None else "--chunks"
    _is_a_file(str(pool or chunks), option)
    found = read_ids(str(pool or chunks), option=option, legal="a file of ids, one a line or JSON Lines")
    ids = np.array(sorted(set(found)), dtype=object)
    coded = code_qrels(read_qrels(qrels))
    if queries_file is not None:
        coded = only_queries(coded, queries_file)
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = coded.judgments.queries
        return [_write(folder, n, ids, names, min(depth, len(ids))) for n in range(seed, seed + seeds)]
    except OSError as error:
        raise OptionError(f"cannot be written: {error.strerror or error}", where=str(output)) from None


def _is_a_file(path: str, option: str) -> None:
    """Raises OptionError for the pools of other commands, which have no ids of one collection in them."""
    number = re.fullmatch(r"[+-]?[0-9][0-9_,.eE+-]*", path)
    if not (number or re.match(r"(observed|run)$|(candidates|ir_datasets):.", path)) or Path(path).exists():
        return
    raise OptionError(
        f"{path!r} is a pool without a file of ids" if not number else f"the number {path} has no ids",
        where=option,
        legal="a file of ids, one a line or JSON Lines",
        mend="Write the ids of the collection to a file. `falsify-adapters floor --simulate` makes runs for any pool.",
    )


def _write(folder: Path, seed: int, ids: Any, queries: Sequence[str], depth: int) -> Path:
    rng = np.random.default_rng(seed)
    path = folder / f"noise-seed{seed}.run"
    with path.open("w", encoding="utf-8") as file:
        for query in queries:
            docs = ids[distinct(len(ids), depth, 1, rng)[0]]
            rows = enumerate(docs, start=1)  # whole numbers fall without ties, as 32-bit floats too
            file.writelines(f"{query} Q0 {doc} {rank} {depth - rank + 1} noise-{seed}\n" for rank, doc in rows)
    return path
