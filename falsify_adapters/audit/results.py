"""Published result files of MTEB, in every layout that it has used, as records: split, subset, values by name."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LARGEST = 32 * 2**20  # bytes; a real file has some ten thousand
NOT_SPLITS = ("mteb_version", "dataset_revision", "mteb_dataset_name", "task_name", "evaluation_time",
              "kg_co2_emissions", "date", "evaluation_phases")  # fmt: skip


class Unreadable(Exception):
    """A file that holds no results, with the reason as its text."""


@dataclass(frozen=True, slots=True)
class Record:
    """The values of one split and subset. values: finite numbers by MTEB's names; odd: what is no finite number."""

    split: str
    subset: str
    values: Mapping[str, float]
    odd: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Named:
    """Where a file stands in the tree: results/MODEL/REVISION/TASK.json; folders that are not there are ""."""

    model: str
    revision: str
    task: str


def named(item: str) -> Named:
    """Model, revision and task from the path of an item; `__` in a folder of a model stands for `/`."""
    *above, name = item.split("/")
    folders = [part for part in above if part not in ("", ".", "results")]
    model, revision = (folders[-2], folders[-1]) if len(folders) > 1 else (folders[-1] if folders else "", "")
    return Named(model.replace("__", "/"), revision, name.removesuffix(".json"))


def legal(text: str) -> str:
    """The text with what cannot be written as UTF-8 as escapes: bytes of file names, halves of surrogate pairs."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


def records(data: bytes) -> tuple[str | None, list[Record]]:
    """The task as the file names it, and its records. Raises Unreadable."""
    if len(data) > LARGEST:
        raise Unreadable(f"{len(data)} bytes, and a file of results has at most {LARGEST}")
    try:
        content = json.loads(data, object_pairs_hook=_once)
    except RecursionError:
        raise Unreadable("JSON that is nested too deeply") from None
    except UnicodeDecodeError as error:
        raise Unreadable(f"not UTF-8: {error.reason} at byte {error.start}") from None
    except ValueError as error:
        raise Unreadable(f"not legal JSON: {error}") from None
    if not isinstance(content, dict):
        raise Unreadable(f"holds a {type(content).__name__}, not an object with scores")
    task = content.get("task_name", content.get("mteb_dataset_name"))
    scores = content.get("scores")
    found = list(_new(scores) if isinstance(scores, dict) else _old(content))
    if not found:
        raise Unreadable("no scores in any layout that is known (scores by split, or splits at the top)")
    return (task if isinstance(task, str) else None), found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return made


def _new(scores: Mapping[str, Any]) -> Iterator[Record]:
    """{split: [{hf_subset, ...}, ...]}."""
    for split, entries in scores.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict):
                yield _record(split, str(entry.get("hf_subset", "default")), entry)


def _old(content: Mapping[str, Any]) -> Iterator[Record]:
    """Splits at the top; in each the values, or those of each language."""
    for split, entry in content.items():
        if split in NOT_SPLITS or not isinstance(entry, dict):
            continue
        below = {key: value for key, value in entry.items() if isinstance(value, dict) and _is_record(value)}
        if below:
            for subset, values in below.items():
                yield _record(split, subset, values)
        elif _is_record(entry):
            yield _record(split, "default", entry)


def _is_record(entry: Mapping[str, Any]) -> bool:
    return any(
        isinstance(v, (int, float)) and not isinstance(v, bool) and k != "evaluation_time" for k, v in entry.items()
    )


def _record(split: str, subset: str, entry: Mapping[str, Any]) -> Record:
    values = {key: value for key, value in entry.items() if type(value) is float and -1e300 < value < 1e300}
    odd: dict[str, str] = {}
    for key, value in entry.items():
        if key in values:
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            # A whole number may be too long for a double.
            number = float(value) if abs(value) <= 1e300 else math.inf if value == value else math.nan
            if math.isfinite(number):
                values[key] = number
            else:
                odd[key] = "not a finite number"
        elif value is None or (isinstance(value, (str, bool)) and key not in ("hf_subset", "languages")):
            odd[key] = f"{value!r:.40}, not a number"
    return Record(split, subset, values, odd)
