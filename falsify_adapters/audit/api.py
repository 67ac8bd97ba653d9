"""`audit_mteb`: published results against chance, from a tree to a report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falsify_adapters import __version__
from falsify_adapters.audit.find import Tree, find, fitting
from falsify_adapters.audit.judge import MAIN, RANDOM, Context, measure_of, random_scores
from falsify_adapters.audit.results import legal, named
from falsify_adapters.audit.sinks import Lines, Memory, Parts, Sink
from falsify_adapters.audit.stats import read_statistics
from falsify_adapters.audit.summary import Summary
from falsify_adapters.audit.work import BATCH, Progress, work
from falsify_adapters.errors import MeasureError, OptionError

SCHEMA = "falsify-adapters.audit/1"


@dataclass(frozen=True, slots=True, eq=False)
class AuditReport:
    """What an audit found. head: everything but the rows; sink: where those are; summary: of tasks and models."""

    head: Mapping[str, Any]
    sink: Sink
    summary: Summary

    def rows(self) -> list[Mapping[str, Any]]:
        """All rows, in the order of the paths of the files; an archive may hold them in another."""
        return sorted(self.sink, key=lambda row: str(row["path"]))

    def to_dict(self, *, rows: bool = True) -> dict[str, Any]:
        """The report as plain data (schema falsify-adapters.audit/1)."""
        made = {**self.head, "findings": dict(self.summary.counts), "tasks": self.summary.tasks(),
                "models": self.summary.models()}  # fmt: skip
        return {**made, "results": self.rows()} if rows else made

    def to_frame(self, *, pandas: bool = False) -> Any:
        """The rows as a polars frame, or a pandas frame."""
        from falsify_adapters.audit.sinks import frame

        made = frame(self.rows())
        return made.to_pandas() if pandas else made

    def save(self, path: str | Path) -> None:
        """Write the report in the format of the file's ending. Raises OptionError."""
        from falsify_adapters.save_report import save

        save(self.to_dict(), path)


def audit_mteb(
    path: str,
    *,
    stats: str | None = None,
    measures: Sequence[str] | str = MAIN,
    tasks: Sequence[str] = (),
    models: Sequence[str] = (),
    random_model: str | None = None,
    tau: float = 0.05,
    output: str | None = None,
    resume: bool = False,
    jobs: int = 1,
    cluster: str | None = None,
    batch: int = BATCH,
    progress: Progress | None = None,
) -> AuditReport:
    """Which published scores are indistinguishable from random, which lie below chance, and which tasks have no room.

    path: a tree of MTEB's result files, an archive of one, or one file. stats: its descriptive statistics, those of an
    installed mteb where None. measures: MTEB's names, main_score or several. tasks, models: patterns. random_model: the
    model whose results are a measured floor, a pattern; None: one whose name says so; "none": none. output: a folder
    (Parquet parts) or a .jsonl file that grows; resume: go on with it. jobs, cluster: processes, or a Dask scheduler.
    Raises FalsifyError.
    """
    if isinstance(tau, bool) or not isinstance(tau, (int, float)) or not 0 < tau < 1:
        raise OptionError(f"{tau!r} is not legal", where="--tau", legal="a number above 0 and below 1")
    asked = (measures,) if isinstance(measures, str) else tuple(measures)
    for name in asked:
        if name != MAIN and measure_of(name) is None:
            raise MeasureError(
                f"{name!r} has no floor in an audit", where="--measure",
                legal="main_score, or ndcg_at_10, map_at_1000, map, mrr_at_10, recall_at_100, precision_at_5, ...",
            )  # fmt: skip
    say = progress or (lambda *_: None)
    every, statistics = find(path), read_statistics(stats)
    tree = fitting(every, tasks, models)
    found, random = _random(every, random_model, asked)
    context = Context(statistics, asked, tau, ", ".join(found), random)
    settings = {
        "path": path, "stats": stats if stats is not None else statistics.path or None, "measures": list(asked),
        "tasks": list(tasks), "models": list(models), "random_model": ", ".join(found) or None, "tau": tau,
    }  # fmt: skip
    plan = {"version": __version__, "settings": settings, "files": len(tree.items), "batch": batch,
            "items": _digest(tree.items), "statistics": _digest(f"{item}" for item in sorted(statistics.known.items())),
            "random": _digest(f"{item}" for item in sorted(random.items()))}  # fmt: skip
    sink: Sink = Memory()
    if output is not None:
        if Path(path).is_dir() and Path(output).resolve().is_relative_to(Path(path).resolve()):
            raise OptionError("lies in the tree that is audited", where=f"-o {output}", legal="a place outside of it")
        sink = (Lines if output.endswith(".jsonl") else Parts)(output, plan, resume=resume)
    elif resume:
        raise OptionError(
            "there is nothing to go on from", where="--resume", legal="together with -o FOLDER or FILE.jsonl"
        )
    work(tree, context, sink, jobs=jobs, cluster=cluster, batch=batch, say=say)
    head = {
        "schema": SCHEMA, "version": __version__, "settings": settings,
        "files": len(tree.items), "statistics": len(statistics.known),
    }  # fmt: skip
    return AuditReport(head, sink, Summary(sink, tau))


def _random(every: Tree, pattern: str | None, asked: Sequence[str]) -> tuple[list[str], dict[Any, float]]:
    """The models whose results are a measured floor, and those results; their files are read beforehand."""
    if pattern == "none":
        return [], {}
    fits = _matcher(pattern)
    items = [item for item in every.items if fits(named(item).model)]
    if not items:
        if pattern is not None:
            raise OptionError(
                f"no model is called {pattern!r}", where="--random-model", legal="a pattern of a model's name, or none"
            )
        return [], {}
    some = Tree(every.root, tuple(items))
    files = some.stream() if some.archive else ((item, some.read(item)) for item in items)
    return sorted({legal(named(item).model) for item in items}), random_scores(files, asked)


def _matcher(pattern: str | None) -> Any:
    from fnmatch import fnmatchcase

    if pattern is None:
        return lambda model: re.search(RANDOM, model.lower()) is not None
    return lambda model: fnmatchcase(model, pattern)


def _digest(lines: Iterable[str]) -> str:
    import hashlib

    return hashlib.sha256("\n".join(lines).encode(errors="backslashreplace")).hexdigest()
