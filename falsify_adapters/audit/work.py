"""Handing out files to processes or to a Dask cluster, through joblib, and keeping what comes back."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

from falsify_adapters.audit.find import Tree
from falsify_adapters.audit.judge import Context, Row, judge
from falsify_adapters.audit.sinks import Sink
from falsify_adapters.errors import BackendError, MissingInputError, NotInstalledError, OptionError

BATCH = 200  # files; a batch is what is handed out, written and resumed
Progress = Callable[[str, int, int], None]
Batch = tuple[int, Sequence[str], Sequence[bytes | str] | None]


def work(
    tree: Tree, context: Context, sink: Sink, *, jobs: int = 1, cluster: str | None = None, batch: int = BATCH,
    say: Progress = lambda *_: None,
) -> None:  # fmt: skip
    """Judge every item of the tree that the sink does not hold yet, batch by batch. The batches follow from the items
    alone, so that rows are the same however the work was done.

    jobs: processes here; cluster: the address of a Dask scheduler instead; say: called with the number of files that
    are done. Raises NotInstalledError, OptionError, MissingInputError where a worker does not see the files.
    """
    done, files = sink.done(), len(tree.items)
    sizes = [min(batch, files - start) for start in range(0, files, batch)]
    left = {n for n in range(len(sizes)) if n not in done}
    ready = files - sum(sizes[n] for n in left)
    say("auditing", ready, files)
    # Workers on other machines start in other folders.
    task = _Task(pickle.dumps((os.path.abspath(tree.root), context)), sink.pack)  # noqa: PTH100
    for number, packed in _answers(_batches(tree, batch, left), task, jobs, cluster):
        sink.put(number, packed)
        ready += sizes[number]
        say("auditing", ready, files)


def _batches(tree: Tree, size: int, wanted: set[int]) -> Iterator[Batch]:
    if not tree.archive:
        for n in sorted(wanted):
            yield n, tree.items[n * size : (n + 1) * size], None
        return
    # An archive is read once, from front to back, and its files are handed out with their bytes.
    stream = tree.stream()
    for n in range(max(wanted, default=-1) + 1):
        some = list(islice(stream, size))
        if n in wanted:
            yield n, [item for item, _ in some], [data for _, data in some]


def _answers(batches: Iterable[Batch], task: _Task, jobs: int, cluster: str | None) -> Iterator[tuple[int, Any]]:
    if jobs == 1 and cluster is None:
        yield from map(task, batches)
        return
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise NotInstalledError(
            "working in several processes needs the package joblib", where="--jobs" if cluster is None else "--cluster",
            mend="pip install 'falsify-adapters[audit]', or leave the option out.",
        ) from error  # fmt: skip
    with _backend(cluster) as n_jobs, _workers_may_die(cluster):
        parallel = Parallel(n_jobs=n_jobs or jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        if cluster is None:
            yield from parallel(delayed(task)(batch) for batch in batches)
            return
        # Dask takes all that it is given at once: some batches at a time keep memory flat.
        waiting = iter(batches)
        while some := list(islice(waiting, 64)):
            yield from parallel(delayed(task)(batch) for batch in some)


@contextmanager
def _workers_may_die(cluster: str | None) -> Iterator[None]:
    """A worker that dies alone is replaced or its batch given to another; here one too many did."""
    from concurrent.futures.process import BrokenProcessPool

    died: tuple[type[Exception], ...] = (BrokenProcessPool,)
    if cluster is not None:
        from distributed import KilledWorker

        died = (KilledWorker,)
    try:
        yield
    except died as error:
        raise BackendError(
            "a worker was killed, for want of memory perhaps", where="--jobs" if cluster is None else "--cluster",
            mend="Take fewer workers or a smaller --batch, and go on with --resume.",
        ) from error  # fmt: skip


def _backend(cluster: str | None) -> AbstractContextManager[int | None]:
    if cluster is None:
        return nullcontext(None)
    try:
        import distributed
    except ImportError as error:
        raise NotInstalledError(
            "a Dask cluster needs the package distributed", where="--cluster",
            mend="pip install 'falsify-adapters[dask]'.",
        ) from error  # fmt: skip
    return _Cluster(cluster, distributed)


class _Cluster:
    """joblib's calls go to the scheduler at an address as long as this is open."""

    def __init__(self, address: str, distributed: Any) -> None:
        try:
            self._client = distributed.Client(address, timeout="5s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise OptionError(
                f"no Dask scheduler answers at {address!r}: {error}", where="--cluster", legal="as in tcp://HOST:8786"
            ) from None

    def __enter__(self) -> int:
        from joblib import parallel_config

        self._config = parallel_config(backend="dask", client=self._client)
        self._config.__enter__()
        return -1

    def __exit__(self, *error: Any) -> None:
        self._config.__exit__(*error)
        self._client.close()


@dataclass(frozen=True, slots=True)
class _Task:
    """What is done to a batch. common: root and context, pickled once, and unpickled once in each process."""

    common: bytes
    pack: Callable[[int, Sequence[Row]], Any]

    def __call__(self, batch: Batch) -> tuple[int, Any]:
        number, items, files = batch
        root, context = _unpacked(self.common)
        tree = Tree(root, ())
        if files is None and not os.path.exists(root):  # noqa: PTH110
            raise MissingInputError(
                f"a worker sees no {root!r}", where="--cluster", legal="a path that all workers share",
                mend="Or give a .tar.gz, whose files are sent to the workers.",
            )  # fmt: skip
        data = [tree.read(item) for item in items] if files is None else files
        rows = [row for item, content in zip(items, data, strict=True) for row in judge(item, content, context)]
        return number, self.pack(number, rows)


@lru_cache(maxsize=1)
def _unpacked(common: bytes) -> tuple[str, Context]:
    found: tuple[str, Context] = pickle.loads(common)
    return found
