"""What the rows say of each task and of each model; one pass, and no row is kept."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

FINDINGS = ("below_chance", "indistinguishable", "above", "unknown")


@dataclass(slots=True)
class _Task:
    low: float = math.inf
    high: float = -math.inf
    ceiling: float | None = None
    sources: set[str] = field(default_factory=set)
    kinds: Counter[str] = field(default_factory=Counter)
    scores: array[float] = field(default_factory=lambda: array("d"))


@dataclass(slots=True)
class _Model:
    kinds: Counter[str] = field(default_factory=Counter)
    used: array[float] = field(default_factory=lambda: array("d"))


class Summary:
    """Gathers rows in any order; what it says does not depend on that order."""

    def __init__(self, rows: Iterable[Mapping[str, Any]] = (), tau: float = 0.05) -> None:
        self.tau = tau
        self.counts = dict.fromkeys(FINDINGS, 0)
        self._tasks: dict[tuple[str, str, str, str], _Task] = {}
        self._models: dict[tuple[str, str], _Model] = {}
        for row in rows:
            self.add(row)

    def add(self, row: Mapping[str, Any]) -> None:
        """Take one row in."""
        self.counts[row["finding"]] += 1
        model = self._models.setdefault((row["model"], row["revision"]), _Model())
        model.kinds[row["finding"]] += 1
        if row["headroom_used"] is not None:
            model.used.append(row["headroom_used"])
        if row["floor"] is None:
            return
        task = self._tasks.setdefault((row["task"], row["split"], row["subset"], row["measure"]), _Task())
        task.low, task.high = min(task.low, row["floor"][0]), max(task.high, row["floor"][1])
        task.sources.add(row["floor_source"])
        task.kinds[row["finding"]] += 1
        task.scores.append(row["score"])
        if row["ceiling"] is not None:
            task.ceiling = row["ceiling"] if task.ceiling is None else max(task.ceiling, row["ceiling"])

    def tasks(self) -> list[dict[str, Any]]:
        """One row per task, split, subset and measure with a floor, most room first: floor, ceiling, room (the ceiling
        less the highest floor), how many systems there are, lie below the floor and within tau of it."""
        out = []
        for (name, split, subset, measure), task in self._tasks.items():
            scores = sorted(task.scores)
            near = [s for s in scores if task.low - self.tau <= s <= task.high + self.tau]
            out.append(
                {
                    "task": name, "split": split, "subset": subset, "measure": measure,
                    "floor": [task.low, task.high], "floor_source": "/".join(sorted(task.sources)),
                    "ceiling": task.ceiling, "room": None if task.ceiling is None else task.ceiling - task.high,
                    "systems": len(scores), "below_floor": sum(s < task.low for s in scores),
                    "within_tau": len(near), **{kind: task.kinds.get(kind, 0) for kind in FINDINGS},
                    "best": scores[-1], "median": scores[len(scores) // 2],
                }
            )  # fmt: skip
        place = ("task", "split", "subset", "measure")
        return sorted(out, key=lambda t: (-(-1.0 if t["room"] is None else t["room"]), *(t[key] for key in place)))

    def models(self) -> list[dict[str, Any]]:
        """One row per model and revision: findings of each kind, and the mean share of headroom used."""
        return [
            {
                "model": name, "revision": revision, "rows": sum(model.kinds.values()),
                **{kind: model.kinds.get(kind, 0) for kind in FINDINGS},
                "headroom_used": math.fsum(model.used) / len(model.used) if model.used else None,
            }
            for (name, revision), model in sorted(self._models.items())
        ]  # fmt: skip
