"""Pictures of numbers on a horizontal scale, as SVG that stretches with the page.

Across, everything is placed in percent of the width; down, and for letters, in pixels: so the picture fits a phone
and a sheet of paper alike, and its text stays as large as the page's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from falsify_adapters.report.markup import Markup, el

ROW, AXIS = 60, 30  # pixels
LINE = 17  # pixels from one line of text to the next
NAME_LENGTH, LINE_LENGTH = 30, 38  # letters that fit across a phone, a name's with its finding


@dataclass(frozen=True, slots=True)
class Scale:
    """From `low` to `high`, low < high; log: by ratios, both above 0."""

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where a value lies, 0 at the left end and 1 at the right; values beyond an end lie at it."""
        low, high, value = (math.log(max(x, 1e-300)) if self.log else x for x in (self.low, self.high, value))
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def at(self, value: float) -> str:
        return f"{100 * self.share(value):.3f}%"

    def ticks(self) -> list[float]:
        """At most seven round values."""
        if self.log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            every = max(1, math.ceil((last - first + 1) / 7))
            return [10.0**power for power in range(first, last + 1, every)]
        rough = (self.high - self.low) / 6
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(times * power for times in (1, 2, 5, 10) if times * power >= rough * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]


class Picture:
    """Shapes, one below the other: marks that run through all rows, then rows, then the axis."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.y = 0
        self._back: list[Markup] = []
        self._front: list[Markup] = []
        self._through: list[tuple[float, str, int]] = []

    def mark(self, value: float, text: str, kind: str) -> None:
        """A vertical line through all rows, its label in a line of its own at the top."""
        self.y += 18
        self._label(value, self.y - 5, text, kind)
        self._through.append((value, kind, self.y - 2))

    def beyond(self, text: str, kind: str) -> None:
        """The label of a value that lies off to the right, in a line of its own at the top."""
        self.y += 18
        self._label(self.scale.high, self.y - 5, text, kind)

    def row(self, name: str, found: str, kind: str = "") -> int:
        """Opens a row: its name at the left, what was found at the right, or below where both are too long for a line.

        Gives the y of the top of its bar.
        """
        short = name if len(name) <= NAME_LENGTH else name[: NAME_LENGTH - 1] + "…"
        top = self.y + 8
        self._front.append(el("text", short, x="0", y=top + 13, class_="name"))
        beside = len(short) + len(found) <= LINE_LENGTH
        down = 0 if beside else LINE
        place = {"x": "100%", "text_anchor": "end"} if beside else {"x": "0"}
        self._front.append(el("text", found, y=top + 13 + down, class_=f"found {kind}".strip(), **place))
        self.y += ROW + down
        return top + 22 + down

    def bar(self, start: float, end: float, y: float, height: float, kind: str) -> None:
        low, high = sorted((self.scale.share(start), self.scale.share(end)))
        shape = el("rect", x=f"{100 * low:.3f}%", y=y, width=f"{100 * (high - low):.3f}%", height=height, class_=kind)
        self._back.append(shape)

    def line(self, value: float, y: float, height: float, kind: str) -> None:
        """A vertical line."""
        at = self.scale.at(value)
        self._front.append(el("line", x1=at, x2=at, y1=y, y2=y + height, class_=kind))

    def dot(self, value: float, y: float, kind: str, radius: float = 5) -> None:
        self._front.append(el("circle", cx=self.scale.at(value), cy=y, r=radius, class_=kind))

    def whisker(self, ends: Sequence[float], y: float, kind: str, cap: float = 0) -> None:
        """An interval as a horizontal line; cap: half the height of the strokes at its ends."""
        first, last = self.scale.at(ends[0]), self.scale.at(ends[1])
        self._front.append(el("line", x1=first, x2=last, y1=y, y2=y, class_=kind))
        for value in ends if cap else ():
            self.line(value, y - cap, 2 * cap, "cap")

    def bare(self, height: int, width: str) -> Markup:
        """The shapes alone, without axis or words, for a table that says the same in numbers."""
        return el("svg", self._back, self._front, width=width, height=height, aria_hidden="true", class_="bare")

    def _label(self, value: float, y: float, text: str, kind: str) -> None:
        share = self.scale.share(value)
        anchor = "start" if share < 0.2 else "end" if share > 0.8 else "middle"
        self._front.append(
            el("text", text, x=self.scale.at(value), y=y, text_anchor=anchor, class_=f"mark-name {kind}")
        )

    def svg(self, name: str, title: str, description: str) -> Markup:
        """The picture with its axis. name: a unique id; title and description are what a screen reader says."""
        bottom = self.y + 6
        through = []
        for value, kind, top in self._through:
            at = self.scale.at(value)
            through.append(el("line", x1=at, x2=at, y1=top, y2=bottom, class_=f"mark {kind}"))
        axis = [el("line", x1="0", x2="100%", y1=bottom, y2=bottom, class_="axis")]
        for tick in self.scale.ticks():
            share, at = self.scale.share(tick), self.scale.at(tick)
            anchor = "start" if share < 0.02 else "end" if share > 0.98 else "middle"
            axis.append(el("line", x1=at, x2=at, y1=bottom, y2=bottom + 5, class_="axis"))
            axis.append(el("text", f"{tick:.10g}", x=at, y=bottom + 19, text_anchor=anchor, class_="tick"))
        return el(
            "svg",
            el("title", title, id=f"{name}-title"),
            el("desc", description, id=f"{name}-desc"),
            self._back, through, self._front, axis,
            role="img", aria_labelledby=f"{name}-title {name}-desc", width="100%", height=bottom + AXIS - 6,
            xmlns="http://www.w3.org/2000/svg",
        )  # fmt: skip
