"""Runs that were saved, through the whole gate: BEIR's folders and objects, and the predictions that MTEB saves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from falsify_adapters.check import gate
from falsify_adapters.errors import InputError, MissingInputError, OptionError
from falsify_adapters.report.data import GateReport

PREDICTIONS = ("_predictions.json", "_predictions.json.gz")
Lists = Mapping[str, Mapping[str, float]]
# (task, split, subset) -> qrels, and the pool: what `gate` takes for it, or candidate documents by query
Loader = Callable[[str, str, str], tuple[Any, Any]]


def audit_beir(
    qrels: Any, results: Any, corpus: Any = None, measures: Any = ("nDCG@10", "AP@100", "R@100", "P@10"), *,
    ignore_identical_ids: bool = True, **options: Any,
) -> GateReport:  # fmt: skip
    """The gate on what a BEIR script has in hand, in one line: `qrels` and `results` as dicts of dicts, `corpus` for N.

    corpus: anything with a length, or a number; None: the documents seen. ignore_identical_ids: as BEIR's `evaluate`
    has it by default, a document with the query's own id is dropped. options: those of `gate`. Raises FalsifyError.
    """
    if "pool" in options and corpus is not None:
        raise OptionError("N is given twice, by corpus and by pool", legal="one of them")
    pool = options.pop("pool", "observed") if corpus is None else corpus if isinstance(corpus, int) else len(corpus)
    return gate(qrels, results, measures, pool=pool, drop_self=ignore_identical_ids, **options)


def audit_beir_folder(
    path: str, runs: Sequence[str], measures: Any = "nDCG@10", *, split: str = "test",
    ignore_identical_ids: bool = True, **options: Any,
) -> GateReport:  # fmt: skip
    """The gate for runs over a BEIR folder: qrels/SPLIT.tsv, and N from corpus.jsonl (.gz too).

    runs: TREC runs, or BEIR's results as JSON. Raises FalsifyError, naming what the folder lacks.
    """
    folder = Path(path)
    if not folder.is_dir():
        raise MissingInputError(f"there is no folder {path!r}", where="PATH", legal="a BEIR folder")
    qrels = _one_of(folder, [f"qrels/{split}.tsv", f"qrels/{split}.tsv.gz"], "--split", _splits(folder))
    corpus = _one_of(folder, ["corpus.jsonl", "corpus.jsonl.gz"], "PATH", "corpus.jsonl, which says how large N is")
    options.setdefault("pool", corpus)
    return gate(qrels, list(runs), measures, drop_self=ignore_identical_ids, **options)


def _splits(folder: Path) -> str:
    names = sorted(path.name.removesuffix(".gz").removesuffix(".tsv") for path in folder.glob("qrels/*.tsv*"))
    return ", ".join(names) or "qrels/SPLIT.tsv, as BEIR's folders have it"


def _one_of(folder: Path, names: Sequence[str], where: str, legal: str) -> str:
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        raise MissingInputError(f"{folder} holds no {names[0]}", where=where, legal=legal)
    return str(found)


@dataclass(frozen=True, slots=True, eq=False)
class Saved:
    """One run that MTEB saved."""

    task: str
    model: str
    subset: str
    split: str
    lists: Lists
    path: str


def predictions_in(path: str) -> list[str]:
    """The prediction files of a folder, or the one that is named; none where it holds no such file."""
    source = Path(path)
    if source.is_file():
        return [path] if source.name.endswith(PREDICTIONS) else []
    return sorted(str(p) for p in source.rglob("*") if p.name.endswith(PREDICTIONS))


def read_predictions(path: str) -> Iterator[Saved]:
    """Every subset and split of a file {mteb_model_meta, SUBSET: {SPLIT: {query: {document: score}}}}. Raises
    InputError."""
    name = Path(path).name
    task = next((name.removesuffix(end) for end in PREDICTIONS[::-1] if name.endswith(end)), Path(path).stem)
    try:
        data = Path(path).read_bytes()
        content = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    except (OSError, EOFError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read as JSON: {error}", where=path, legal="a file that MTEB saved") from None
    if not isinstance(content, dict):
        raise InputError(f"holds a {type(content).__name__}", where=path, legal="{subset: {split: {query: {...}}}}")
    meta = content.get("mteb_model_meta")
    model = str(meta.get("model_name", "")) if isinstance(meta, dict) else ""
    for subset, splits in content.items():
        if subset == "mteb_model_meta":
            continue
        for split, lists in splits.items() if isinstance(splits, dict) else ():
            if not isinstance(lists, dict) or not all(isinstance(docs, dict) for docs in lists.values()):
                raise InputError(
                    f"no lists under {subset!r}, {split!r}", where=path, legal="{query: {document: score}}"
                )
            yield Saved(task, model, subset, split, lists, path)


def loader_of_files(qrels: str, pool: str) -> Loader:
    """Qrels and pool from paths in which {task}, {split} and {subset} are filled in; a pool may be a number too."""

    def load(task: str, split: str, subset: str) -> tuple[Any, Any]:
        where = {"task": task, "split": split, "subset": subset}
        try:
            return qrels.format(**where), pool.format(**where)
        except (KeyError, IndexError, ValueError) as error:
            raise OptionError(
                f"{qrels!r}, {pool!r}: {error!r}", where="--qrels, --pool", legal="paths with {task}, {split}, {subset}"
            ) from None

    return load


def loader_of_task(task: Any) -> Loader:
    """Qrels, and candidates or N, from a task object of mteb 2: `task.dataset[subset][split]` with relevant_docs,
    corpus and, for reranking, top_ranked. The task is loaded (`load_data`) where it has no data yet."""

    def load(_name: str, split: str, subset: str) -> tuple[Any, Any]:
        if not getattr(task, "dataset", None) and callable(getattr(task, "load_data", None)):
            task.load_data()
        try:
            data = task.dataset[subset][split]
        except (KeyError, TypeError) as error:
            raise InputError(f"the task has no subset {subset!r} with a split {split!r}: {error!r}") from None
        tops = data.get("top_ranked")
        return data["relevant_docs"], tops if tops else len(data["corpus"])

    return load


def audit_predictions(
    path: str, load: Loader, measures: Any = "nDCG@10", *, tasks: Sequence[str] = (), models: Sequence[str] = (),
    **options: Any,
) -> GateReport:  # fmt: skip
    """The gate for every run of the prediction files of a path, by task, split and subset.

    load: where qrels and pool are from. MTEB saves lists before it drops a query's own document: drop_self=True for
    tasks such as ArguAna and Quora. options: those of `gate`. Raises FalsifyError.
    """
    from fnmatch import fnmatchcase

    files = predictions_in(path)
    if not files:
        raise InputError("holds no *_predictions.json", where=path, legal="a folder of predictions that MTEB saved")
    reports = []
    for file in files:
        for saved in read_predictions(file):
            fits = not tasks or any(fnmatchcase(saved.task, pattern) for pattern in tasks)
            if not fits or (models and not any(fnmatchcase(saved.model, pattern) for pattern in models)):
                continue
            reports.append((saved, _gated(saved, load, measures, options)))
    if not reports:
        raise OptionError(f"none of {len(files)} prediction files fits", where="--task, --model", legal="patterns")
    return _joined(path, reports)


def _gated(saved: Saved, load: Loader, measures: Any, options: Mapping[str, Any]) -> GateReport:
    qrels, pool = load(saved.task, saved.split, saved.subset)
    given = dict(options)
    if isinstance(pool, Mapping):
        return _over_candidates(saved, qrels, pool, measures, given)
    return gate(qrels, saved.lists, measures, pool=pool, **given)


def _over_candidates(
    saved: Saved, qrels: Any, pool: Mapping[str, Sequence[str]], measures: Any, options: dict[str, Any]
) -> GateReport:
    """Candidates in memory, through a pool source of their own."""
    from falsify_adapters.hookspecs import hookimpl
    from falsify_adapters.offers import Offer
    from falsify_adapters.registry import Registry

    class Candidates:
        @hookimpl
        def pools(self) -> list[Offer]:
            return [Offer("saved", lambda: lambda _argument: pool, "the candidates of a task")]

    registry = Registry()
    registry.register(Candidates(), package="falsify_adapters.audit")
    return gate(qrels, saved.lists, measures, pool="saved:candidates", registry=registry, **options)


def _joined(path: str, reports: Sequence[tuple[Saved, GateReport]]) -> GateReport:
    """One report over all of them; a run is named by model, task, split and subset."""
    entries = []
    for saved, report in reports:
        parts = [saved.model, saved.task, saved.split, "" if saved.subset == "default" else saved.subset]
        name = " ".join(part for part in parts if part)
        entries += [replace(entry, run=name, path=saved.path) for entry in report]
    facts = [report.qrels for _, report in reports]
    total = replace(
        facts[0], path=facts[0].path if len(facts) == 1 else path, sha256=facts[0].sha256 if len(facts) == 1 else None,
        queries=sum(f.queries for f in facts), judgments=sum(f.judgments for f in facts),
        gold=sum(f.gold for f in facts),
    )  # fmt: skip
    return GateReport(reports[0][1].settings, total, tuple(entries))
