"""What a plugin hands over: an offer (a name and where to find the thing), and what the thing of each kind must be.

Importing this module loads nothing: no backend, no numpy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from falsify_adapters.errors import PluginError
from falsify_adapters.measure_names import ALIASES, NO_GATE, Family, fold

if TYPE_CHECKING:
    import numpy as np

    from falsify_adapters.core.cross import CrossScores, Grade
    from falsify_adapters.core.nulls import NullScores
    from falsify_adapters.measures import Measure
    from falsify_adapters.model import Judgments, Lists, Pool, Qrels, Run
    from falsify_adapters.readers.streams import Stream

Kind = Literal["backends", "measures", "nulls", "readers", "pools", "units", "formats", "commands"]
KINDS: tuple[Kind, ...] = get_args(Kind)

NULLS_OF_THE_CORE = ("A", "B", "C", "D")

_NAME = re.compile(r"[^\W_][\w.+-]*")
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True)
class Offer:
    """One thing that can be had under a name. Making an offer imports nothing; loading it does.

    name: as typed on the command line (a letter or digit, then letters, digits and _ . + -); load: "module:attribute",
    or a function of no arguments that returns the thing; summary: one line for `falsify-adapters plugins`.
    A class is called without arguments when it is loaded; anything else is the thing itself.
    Raises PluginError where a field is not legal.
    """

    name: str
    load: str | Callable[[], object]
    summary: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise PluginError(
                f"the name {self.name!r} of an offer cannot be typed on a command line",
                legal="a letter or digit, then letters, digits and _ . + -",
            )
        if not (callable(self.load) or (isinstance(self.load, str) and _DOTTED.fullmatch(self.load))):
            raise PluginError(
                f"the offer {self.name!r} cannot be loaded from {self.load!r}",
                legal='"module:attribute", or a function of no arguments',
            )
        if not isinstance(self.summary, str) or not self.summary.strip() or "\n" in self.summary:
            raise PluginError(
                f"the offer {self.name!r} has the summary {self.summary!r}", legal="one line of text that is not empty"
            )


class Score(Protocol):
    """Value of one ranked list: `score(measure, ranked, judged)`.

    measure: has the cutoff, the relevance level and the parameters that were typed, those left out not among them;
    ranked: grades in rank order, None for a document that is not judged, already cut at `measure.cutoff`;
    judged: the grades of all judged documents of the query, descending, retrieved or not.
    """

    def __call__(self, measure: Measure, ranked: Sequence[int | None], judged: Sequence[int], /) -> float: ...


class Floor(Protocol):
    """Exact expectation of one query under random ranking: `floor(measure, n, depth, in_pool, judged)`.

    n: documents in the pool; depth: documents drawn from it, uniformly, without replacement, in random order;
    in_pool: grades of the judged documents that lie in the pool; judged: those of all, both descending.
    """

    def __call__(
        self, measure: Measure, n: int, depth: int, in_pool: Sequence[int], judged: Sequence[int], /
    ) -> float: ...


@dataclass(frozen=True, slots=True)
class MeasureSpec:
    """A measure family: what is known about it, and how it is computed where no backend does it.

    family: its name (that of the offer), meaning, cutoff and parameters, and what may be left out when it is graded
    (`zero_without_gold`, `tail`); citation: where it is defined; unit_range: whether values lie in [0, 1], without
    which there is no gate; score: None where a backend or kernel computes it; floor: None where the floor has to be
    simulated.
    """

    family: Family
    citation: str = ""
    unit_range: bool = True
    score: Score | None = None
    floor: Floor | None = None

    @property
    def name(self) -> str:
        """The family's name: "Q" is typed "Q@10"."""
        return self.family.name


@dataclass(frozen=True, slots=True, eq=False)
class NullInput:
    """What a null is given: one measure of one ranked run, all in codes.

    cross: S, every list graded against every gold set that it touches; grade: values of further hits.
    """

    measure: Measure
    judgments: Judgments
    lists: Lists
    pool: Pool
    cross: CrossScores
    grade: Grade


class ExtraNull(Protocol):
    """A null beside A to D. `replaces` says in a few words what is left to chance ("the gold sets, within a topic")."""

    name: str
    replaces: str

    def scores(self, given: NullInput, n_draws: int, rng: np.random.Generator) -> NullScores:
        """Expectation per query and of the mean, its standard error (0 where exact), and `n_draws` drawn scores."""


class Reader(Protocol):
    """A run or qrels from an open stream; `name` is the name of the run, None: that of the file."""

    def __call__(self, stream: Stream, what: Literal["qrels", "run"], name: str | None, /) -> Qrels | Run: ...


class PoolSource(Protocol):
    """The pool behind `--pool NAME:ARGUMENT`: how many documents there are, their ids, or those of each query."""

    def __call__(self, argument: str, /) -> int | Iterable[str] | Mapping[str, Iterable[str]]: ...


class UnitMapping(Protocol):
    """The function from chunk id to document id that `NAME:ARGUMENT` stands for."""

    def __call__(self, argument: str, /) -> Callable[[str], str]: ...


class Format(Protocol):
    """A report, plain data with the key "schema", as text that ends in a newline."""

    def __call__(self, report: Mapping[str, Any], /) -> str: ...


def checked(kind: Kind, answers: Sequence[object], *, builtin: bool) -> list[Offer]:
    """What the hook of one plugin returned, as offers; `answers` is empty where it returned None: pluggy drops that.

    Raises PluginError where it is no iterable of offers, or where a name is not free for others to offer.
    """
    answer = answers[0] if answers else None
    legal = "an iterable of offers.Offer"
    if not isinstance(answer, Iterable):
        raise PluginError(f"the hook {kind!r} returned {type(answer).__name__}", legal=legal)
    offers: list[Offer] = []
    for item in answer:
        if not isinstance(item, Offer):
            raise PluginError(f"the hook {kind!r} returned an iterable that holds {type(item).__name__}", legal=legal)
        if fold(item.name) in {fold(offer.name) for offer in offers}:
            raise PluginError(f"the hook {kind!r} offers the name {item.name!r} twice")
        if not builtin and (taken := _taken(kind, item.name)):
            raise PluginError(f"the hook {kind!r} offers {item.name!r}, {taken}", mend="Give it another name.")
        offers.append(item)
    return offers


def _taken(kind: Kind, name: str) -> str | None:
    """Why a name is not free, where that is not for another offer: it would never be reached."""
    if kind == "nulls" and name.upper() in NULLS_OF_THE_CORE:
        return "which is a null of the core"
    if kind == "measures":
        family = ALIASES.get(fold(name))
        if family is not None and fold(family.name) != fold(name):
            return f"which is another spelling of the measure {family.name}"
        if fold(name) in NO_GATE:
            return f"which has no gate: {NO_GATE[fold(name)]}"
    return None


def not_as_wanted(kind: Kind, name: str, thing: object) -> str | None:
    """None where the thing is what its kind asks for; else what it should be."""
    if kind == "measures":
        fits = isinstance(thing, MeasureSpec) and thing.name == name
        return None if fits else f"a MeasureSpec of the name {name!r}"
    if kind == "commands":
        import click

        return None if isinstance(thing, click.Command) else "a click.Command"
    if kind in ("backends", "nulls"):
        methods = ("why_not", "tolerance", "score") if kind == "backends" else ("scores",)
        fits = getattr(thing, "name", None) == name and all(callable(getattr(thing, m, None)) for m in methods)
        return None if fits else f"an object with the name {name!r} and the methods {', '.join(methods)}"
    return None if callable(thing) else "a function"
