"""Statistics of MTEB's tasks: N, the number of queries, gold and candidates, by task, split and subset."""

from __future__ import annotations

import json
import math
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from falsify_adapters.core.published import Facts, Spread
from falsify_adapters.errors import InputError, MissingInputError

LEGAL = "MTEB's descriptive_stats folder, a .tar.gz of it, or JSON Lines with task, split and subset"
Key = tuple[str, str, str]  # task, split, subset; "default" where a task has one only


@dataclass(frozen=True, slots=True)
class Known:
    """What the statistics say of one subset. facts: None where they say too little, which `doubts` then explains;
    doubts: statistics that contradict others and were not used."""

    facts: Facts | None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Statistics:
    """By task, split and subset. path: where they are from, "" for none."""

    path: str = ""
    known: Mapping[Key, Known] = field(default_factory=dict, repr=False)

    def of(self, task: str, split: str, subset: str) -> Known | None:
        """What is known of a subset; where a task has one subset only, of the task."""
        found = self.known.get((task, split, subset))
        if found is None and subset == "default":
            found = self.known.get((task, split, ""))
        return found


def read_statistics(path: str | None) -> Statistics:
    """From a folder, an archive of one or JSON Lines; None: those of an installed mteb, which is not imported, or none.

    Raises MissingInputError, InputError.
    """
    if path is None:
        folder = _installed()
        return Statistics() if folder is None else Statistics("mteb", dict(_from_folder(folder)))
    source = Path(path)
    if not source.exists():
        raise MissingInputError(f"there is no file {path!r}", where="--stats", legal=LEGAL)
    if source.is_dir():
        found = dict(_from_folder(source))
    elif source.name.endswith((".tar.gz", ".tgz", ".tar")):
        found = dict(_from_archive(source))
    else:
        found = dict(_from_lines(source))
    if not found:
        raise InputError("no statistics of a retrieval task", where=path, legal=LEGAL)
    return Statistics(path, found)


def _installed() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("mteb")  # a top-level name is found without being imported
    places = [] if spec is None else list(spec.submodule_search_locations or ())
    folders = [Path(place) / "descriptive_stats" for place in places]
    return next((folder for folder in folders if folder.is_dir()), None)


def _from_folder(folder: Path) -> Iterator[tuple[Key, Known]]:
    for path in sorted(folder.rglob("*.json")):
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"cannot be read as JSON: {error}", where=str(path), legal=LEGAL) from None
        yield from _of_task(path.stem, content)


def _from_archive(path: Path) -> Iterator[tuple[Key, Known]]:
    try:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.isfile() and member.name.endswith(".json") else None
                if file is not None:
                    yield from _of_task(Path(member.name).stem, json.loads(file.read()))
    except (OSError, tarfile.TarError, EOFError, ValueError, RecursionError) as error:
        raise InputError(f"cannot be read: {error}", where=str(path), legal=LEGAL) from None


def _from_lines(path: Path) -> Iterator[tuple[Key, Known]]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as text: {error}", where=str(path), legal=LEGAL) from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            key = (str(row["task"]), str(row["split"]), "" if row.get("subset") is None else str(row["subset"]))
        except KeyError as error:
            raise InputError(f"has no field {error}", where=str(path), line=number, legal=LEGAL) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise InputError(f"is not a JSON object: {error}", where=str(path), line=number, legal=LEGAL) from None
        yield key, known_of(row)


def _of_task(task: str, content: Any) -> Iterator[tuple[Key, Known]]:
    """A task's file: by split the numbers of all subsets together, and under one key those of each."""
    if not isinstance(content, dict):
        return
    for split, numbers in content.items():
        if not isinstance(numbers, dict):
            continue
        yield (task, split, ""), known_of(numbers)
        subsets = numbers.get("hf_subset_descriptive_stats")
        for subset, own in subsets.items() if isinstance(subsets, dict) else ():
            if isinstance(own, dict):
                yield (task, split, subset), known_of(own)


def known_of(numbers: Mapping[str, Any]) -> Known:
    """What one record of statistics says, what contradicts left out."""
    gold, tops = (numbers.get(k) or {} for k in ("relevant_docs_statistics", "top_ranked_statistics"))
    queries, size = (
        _whole(numbers.get(f"num_{what}"), numbers.get(f"num_{what}_derived"), _texts(numbers, what))
        for what in ("queries", "documents")
    )
    mean = _real(gold.get("average_relevant_docs_per_query"))
    doubts: list[str] = []
    if queries is None or mean is None:
        return Known(None, (f"the statistics do not say {'how many queries' if queries is None else 'how much gold'}",))
    if not mean > 0:
        return Known(None, (f"the statistics say {mean:g} relevant documents a query",))
    pool = _candidates(tops, doubts) or (None if size is None else Spread(size, size, size))
    if pool is None:
        return Known(None, (*doubts, "the statistics do not say how many documents"))
    if mean > pool.mean:
        return Known(None, (*doubts, f"{mean:g} relevant documents a query, more than the {pool.mean:g} there are"))
    return Known(Facts(queries, pool, _gold(gold, mean, pool, tops, doubts)), tuple(doubts))


def _candidates(tops: Mapping[str, Any], doubts: list[str]) -> Spread | None:
    mean = _real(tops.get("average_top_ranked_per_query"))
    least, most = _whole(tops.get("min_top_ranked_per_query")), _whole(tops.get("max_top_ranked_per_query"))
    if mean is None or least is None or most is None or most < 1:
        return None
    if not max(least, 1) - 1e-9 <= mean <= most + 1e-9:
        doubts.append(f"candidates a query: mean {mean:g} outside {least} to {most}, not used")
        return None
    return Spread(mean, max(least, 1), most)


def _gold(gold: Mapping[str, Any], mean: float, pool: Spread, tops: Mapping[str, Any], doubts: list[str]) -> Spread:
    """Least and most gold. They often count judged candidates: then the most is an upper limit, and the least none."""
    least, most = (_whole(gold.get(f"{end}_relevant_docs_per_query")) for end in ("min", "max"))
    lowest, highest = (1 if mean >= 1 else 0), pool.most
    counts = (_whole(tops.get("min_top_ranked_per_query")), _whole(tops.get("max_top_ranked_per_query")))
    if (least, most) == counts and least is not None and not (least == most and abs(mean - least) < 1e-9):
        doubts.append(f"relevant documents a query, {least} to {most}: those are the candidates, not used")
        least = None
    if least is not None and least > mean + 1e-9:
        doubts.append(f"relevant documents a query: least {least}, above the mean {mean:g}, not used")
        least = None
    if most is not None and most < mean - 1e-9:
        doubts.append(f"relevant documents a query: most {most}, below the mean {mean:g}, not used")
        most = None
    low = lowest if least is None else max(least, 0)
    high = highest if most is None else min(most, highest)
    return Spread(mean, min(low, math.floor(mean + 1e-9)), max(high, math.ceil(mean - 1e-9)))


def _texts(numbers: Mapping[str, Any], what: str) -> float | None:
    """How many texts there are, from their total and their average length: older statistics say no more."""
    lengths = numbers.get(f"{what}_text_statistics") or {}
    total, mean = (_real(lengths.get(key)) for key in ("total_text_length", "average_text_length"))
    return None if total is None or not mean else round(total / mean)


def _whole(*given: Any) -> int | None:
    for value in given:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) and value >= 0:
            return int(value)
    return None


def _real(value: Any) -> float | None:
    fine = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if fine else None
