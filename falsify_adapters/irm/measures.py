"""The measures as ir_measures sees them: parameters, one canonical spelling, which of the gate's numbers they are."""

from __future__ import annotations

from numbers import Integral
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

import numpy as np
from ir_measures import Measure, ParamInfo

from falsify_adapters.check import check_options
from falsify_adapters.errors import MeasureError, OptionError
from falsify_adapters.measures import parse
from falsify_adapters.pool import LEGAL
from falsify_adapters.registry import Registry

if TYPE_CHECKING:
    from falsify_adapters.model import Floats
    from falsify_adapters.report.data import Entry

_POOL = ParamInfo(dtype=(int, str), required=True, desc="N: a number, a file of ids, candidates:FILE and the like")
_NULLS = ("A", "B", "C", "D")


def _params(**own: ParamInfo) -> dict[str, ParamInfo]:
    """What every measure here takes, and its own, in the order in which they are printed."""
    return {
        "base": ParamInfo(dtype=str, required=True, desc="the measure underneath, as a text: 'nDCG@10'"),
        "cutoff": ParamInfo(dtype=int, desc="the cutoff of the measure underneath, where `base` has none"),
        **own,
        "n_boot": ParamInfo(dtype=int, default=1000, desc="draws, where an expectation has no formula"),
        "seed": ParamInfo(dtype=int, default=0, desc="of the draws"),
    }


class ChanceMeasure(Measure):
    """A number that the gate gives for a measure `base`, per query.

    base: a measure of ir_measures, or a text in any spelling of `-m`; kept as the canonical text, so that equal
    measures print, compare and hash alike. The other parameters are the gate's options of the same names.
    Raises MeasureError or OptionError for a value that is not legal.
    """

    NAME: str
    SUPPORTED_PARAMS = _params()

    def __init__(self, **params: Any) -> None:
        unknown = sorted(set(params) - set(self.SUPPORTED_PARAMS))
        if unknown:
            raise MeasureError(
                f"{self.NAME} has no parameter {unknown[0]!r}",
                legal=", ".join(name for name in self.SUPPORTED_PARAMS if name != "cutoff"),
            )
        given = {name: params[name] for name in self.SUPPORTED_PARAMS if params.get(name) is not None}
        super().__init__(**_canonical(given))  # type: ignore[no-untyped-call]

    def __call__(self, base: Any = None, **params: Any) -> ChanceMeasure:
        """The measure with further parameters, as everywhere in ir_measures: ChanceCorrected(nDCG@10, pool=1000)."""
        left = {**self.params, **params}
        if base is not None:
            left["base"] = base
        return type(self)(**left)

    def validate_params(self) -> None:
        """Raise MeasureError where the measure underneath, N or the null is missing."""
        for name, info in self.SUPPORTED_PARAMS.items():
            if info.required and name not in self.params:
                raise MeasureError(f"{self} needs {name}", mend=f"Write {self.example}.")
        self.validated = True

    @property
    def example(self) -> str:
        """How it is written."""
        return f"{self.NAME}(base='nDCG@10', pool=191175)"

    def values(self, entry: Entry) -> Floats:
        """(Q,) its values, from what the gate found for `base`."""
        raise NotImplementedError


class _Floor(ChanceMeasure):
    """What K random documents of the pool score, expected, K being as many as the system retrieved (null C)."""

    __name__ = "Floor"
    NAME = __name__
    PRETTY_NAME = "Noise floor"
    SHORT_DESC = "The expected score of a random ranking."
    SUPPORTED_PARAMS = _params(pool=_POOL)

    def values(self, entry: Entry) -> Floats:
        return entry.result.floor_per_query


class _ChanceCorrected(ChanceMeasure):
    """(score - floor) / (ceiling - floor): 0 at chance, 1 where every query has its best list.

    The gate divides the mean gap by the mean room. So the value of a query is its own gap over the mean room of all
    queries, and the plain mean of these, which is what ir_measures and PyTerrier compute, is the gate's
    `chance_corrected`. It is no ratio of the query's own: a query with more room than most can exceed 1.
    NaN for all queries where there is no room (a random order scores as much as the best).
    """

    __name__ = "ChanceCorrected"
    NAME = __name__
    PRETTY_NAME = "Chance-corrected score"
    SHORT_DESC = "The gap between score and noise floor, over that between ceiling and noise floor."
    SUPPORTED_PARAMS = _params(pool=_POOL)

    def values(self, entry: Entry) -> Floats:
        result = entry.result
        gap, room = result.own - result.floor_per_query, result.ceiling - result.floor
        return gap / room if room > 0 else np.full(len(gap), np.nan)


class _Lift(ChanceMeasure):
    """The score of a query less what it is expected to be under a null. Its mean is the gate's gap to that null.

    null: "A", "B", "C", "D", or the name of a plugin's; only C depends on the pool.
    """

    __name__ = "Lift"
    NAME = __name__
    PRETTY_NAME = "Lift over a null"
    SHORT_DESC = "The score less its expectation where gold or ranking is left to chance."
    SUPPORTED_PARAMS = _params(
        null=ParamInfo(dtype=str, required=True, desc="A, B, C, D, or the name of a plugin's null"),
        pool=ParamInfo(dtype=(int, str), default="observed", desc=_POOL.desc),
        null_d=ParamInfo(dtype=str, choices=["documents", "sets"], default="documents", desc="what D draws"),
    )

    @property
    def example(self) -> str:
        return "Lift(base='nDCG@10', null='C', pool=191175)"

    def validate_params(self) -> None:
        super().validate_params()
        if self["null"] == "C" and "pool" not in self.params:
            raise MeasureError(f"{self} needs pool", mend=f"Write {self.example}.")

    def values(self, entry: Entry) -> Floats:
        return entry.result.own - entry.result.nulls[self["null"]].per_query


def extra_nulls(measure: ChanceMeasure) -> tuple[str, ...]:
    """The plugin's null that it asks for, if any."""
    null = measure.params.get("null")
    return () if null is None or null in _NULLS else (null,)


def _canonical(given: dict[str, Any]) -> dict[str, Any]:
    """The parameters in their one spelling, in order."""
    out = dict(given)
    cutoff = out.pop("cutoff", None)
    if "base" in out:
        out["base"] = _base(out["base"], cutoff)
    elif cutoff is not None:
        raise MeasureError(
            f"there is no measure to cut at {cutoff}", mend="Write ChanceCorrected(base='nDCG@10', pool=191175)."
        )
    if "pool" in out:
        out["pool"] = _pool(out["pool"])
    if "null" in out:
        out["null"] = _null(out["null"])
    check_options(**{name: out[name] for name in ("n_boot", "seed", "null_d") if name in out})
    for name in ("n_boot", "seed"):
        if name in out:
            out[name] = int(out[name])
    return out


def _base(base: Any, cutoff: object) -> str:
    spelled = base if cutoff is None else f"{base}@{cutoff}"
    return str(parse(spelled, known=lambda name: name in Registry().names("measures")))


def _pool(pool: Any) -> int | str:
    if isinstance(pool, bool) or not isinstance(pool, (Integral, str, PathLike)):
        raise OptionError(f"{repr(pool)[:80]} is no pool", where="pool", legal=LEGAL)
    if isinstance(pool, Integral):
        return int(pool)
    text = fspath(pool).strip()
    return int(text) if text.isdecimal() and text.isascii() else text


def _null(null: Any) -> str:
    """A null's name as the gate spells it."""
    if not isinstance(null, str) or not null:
        raise OptionError(f"{repr(null)[:80]} is no null", where="null", legal="'A', 'B', 'C', 'D' or a plugin's name")
    if null.upper() in _NULLS:
        return null.upper()
    return str(Registry().resolve("nulls", null).name)


# The names that users write: each is called with a measure, as ir_measures' own are.
ChanceCorrected = _ChanceCorrected()
Floor = _Floor()
Lift = _Lift()
