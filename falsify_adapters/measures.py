"""What a measure is, and its one canonical spelling. `parse` reads every spelling of INTERFACE.md."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from falsify_adapters.errors import MeasureError
from falsify_adapters.measure_hints import MAX, SEE, literal, no_gate, read_level, read_value, spell, unknown
from falsify_adapters.measure_names import (
    ALIASES,
    AT_CUTOFF,
    BY_NAME,
    LAST_JUDGED,
    NO_GATE,
    NONE,
    NUMBERED,
    OFFICIAL,
    OPTIONAL,
    PRESETS,
    REQUIRED,
    UNCUT,
    WHOLE_LIST,
    Family,
    Value,
    fold,
)

# Families with kernels and closed floors of our own; every other family is a backend's.
KERNEL_FAMILIES = ("P", "R", "Success", "RR", "AP", "nDCG", "Rprec", "RBP", "bpref", "ERR")


@dataclass(frozen=True, slots=True, order=True)
class Measure:
    """One measure: a family, where it stops looking, and what counts as relevant.

    family: canonical name ("nDCG", "P", "R", "Success", "RR", "AP", "Rprec", "RBP", "bpref", "ERR", or a name
    that a backend or plugin knows); cutoff: k, None where uncut; rel: lowest grade that counts as relevant
    (nDCG and ERR look at grades themselves and ignore it, as trec_eval does); gain: "linear" or "exp" (2^g - 1)
    for nDCG; params: further parameters of the family, sorted by name (RBP: p); top1: gold is the single
    top-graded document of each query (ties: lowest id).
    """

    family: str
    cutoff: int | None = None
    rel: int = 1
    gain: str = "linear"
    params: tuple[tuple[str, float | int | str | bool], ...] = ()
    top1: bool = False

    @property
    def has_kernel(self) -> bool:
        """Whether the kernels and the closed floors define it: judged_only and the like are a backend's alone."""
        return self.family in KERNEL_FAMILIES and all(name == "p" for name, _ in self.params)

    @property
    def graded(self) -> bool:
        """Whether grades, and not only relevance, move the value."""
        return self.family in ("nDCG", "ERR")

    def param(self, name: str) -> float | int | str | bool:
        return dict(self.params)[name]

    def __str__(self) -> str:
        """Canonical spelling: nDCG@10, nDCG(dcg='exp-log2')@10, AP(rel=2)@100, RBP(p=0.8), IPrec@0.1, R@10(top1)."""
        params = dict(self.params)
        at = params.pop("recall", self.cutoff) if self.family == "IPrec" else self.cutoff
        inner = [f"{k}={v!r}" for k, v in params.items()]
        if self.gain == "exp":
            inner.append("dcg='exp-log2'")
        if self.rel != 1:
            inner.append(f"rel={self.rel}")
        text = self.family + (f"({','.join(inner)})" if inner else "")
        text += f"@{at}" if at is not None else ""
        return text + ("(top1)" if self.top1 else "")


# A measure in any form that users hold one in: text, a Measure, or an object of ir_measures.
MeasureLike: TypeAlias = "str | Measure | Any"

_SHAPE = re.compile(r"(?P<name>[^@()]+)(?:\((?P<a>[^()]*)\))?(?:@(?P<at>[^@()]*))?(?:\((?P<b>[^()]*)\))?")
_TAIL = re.compile(r"(?P<stem>.*?)(?P<sep>_at_|_cut[_.]|[_.])(?P<number>[0-9]+(?:\.[0-9]+)?)")
_RANX_LEVEL = re.compile(r"-l([0-9]+)$")
_TREC_LIST = re.compile(r"(?P<stem>.+?)(?P<sep>[._])(?P<list>[0-9.]+(?:,[0-9.]+)+)")


def parse(text: MeasureLike, *, rel: int = 1, known: Callable[[str], bool] | None = None) -> Measure:
    """The measure that a spelling means (INTERFACE.md, option -m); `parse(str(m)) == m`.

    text: a spelling of trec_eval, ir_measures, ranx or MTEB, or a measure object. rel: the relevance level of
    measures that have one and do not state it (trec_eval's -l; nDCG and ERR ignore it). known: whether a name
    outside the built-in table belongs to a plugin. Raises MeasureError, naming the nearest legal spelling.
    """
    read_level(rel, "the relevance level")
    if isinstance(text, Measure):
        return parse(str(text), known=known) if text.family in BY_NAME else text
    if not isinstance(text, str):
        return _from_object(text, rel)
    spelled = "".join(text.split())
    if not spelled:
        raise MeasureError("an empty text is no measure", legal="nDCG@10, AP, RR@10 and the like", mend=SEE)
    level = _RANX_LEVEL.search(spelled)
    shape = _SHAPE.fullmatch(spelled[: level.start()] if level else spelled)
    if shape is None:
        raise unknown(text)
    given, top1 = _arguments(text, shape["a"], shape["b"])
    if level:
        _add(text, given, "rel", level[1])
    key, at = fold(shape["name"]), shape["at"]
    if key in NO_GATE or key.rstrip("0123456789").rstrip("_.") in NO_GATE:
        raise no_gate(text, key, at)
    family = UNCUT.get(key) if at is None else None
    family = family or ALIASES.get(key)
    if family is None and known is not None and known(shape["name"]):
        return _foreign(text, shape["name"], at, given, rel, top1)
    if family is None:
        family, key = _numbered(text, key, at, given)
    elif key in ("ndcg_cut", "map_cut") and at is None:
        raise MeasureError(f"{text!r} needs a cutoff", mend=f"Did you mean {family.name}@10 ({key}.10)?")
    for name, value in PRESETS.get(key, {}).items():
        _add(text, given, name, value)
    if at is not None:
        _add(text, given, "recall" if family.name == "IPrec" else "cutoff", at)
    return _build(text, family, given, rel, top1)


def parse_many(
    specs: Iterable[MeasureLike] | MeasureLike,
    rel: int = 1,
    *,
    known: Callable[[str], bool] | None = None,
    offered: Callable[[Measure], bool] | None = None,
) -> tuple[Measure, ...]:
    """Every measure meant, in order, each once. `official` is trec_eval's set as far as it measures quality in
    [0, 1] (and as far as `offered` says yes, where given); trec_eval's lists, P.5,10, are taken apart."""
    out: dict[Measure, None] = {}
    one: bool = isinstance(specs, (str, Measure)) or _is_object(specs)
    every: Any = (specs,) if one else specs
    if not isinstance(every, Iterable):
        raise MeasureError(
            f"{specs!r} is no measure", legal="nDCG@10, AP, RR@10 and the like, or a list of them", mend=SEE
        )
    for spec in every:
        if isinstance(spec, str) and spec.strip().casefold() == "official":
            official = (parse(name, rel=rel) for name in OFFICIAL)
            out.update(dict.fromkeys(m for m in official if offered is None or offered(m)))
            continue
        several = _TREC_LIST.fullmatch("".join(spec.split())) if isinstance(spec, str) else None
        if several:
            parts = [several["stem"] + several["sep"] + n for n in several["list"].split(",")]
            out.update(dict.fromkeys(parse(part, rel=rel, known=known) for part in parts))
        else:
            out[parse(spec, rel=rel, known=known)] = None
    if not out:
        raise MeasureError("no measure was given", legal="nDCG@10, AP, RR@10 and the like", mend=SEE)
    return tuple(out)


def zero_without_gold(measure: Measure) -> bool:
    """Whether the value is 0 for certain where no gold document was retrieved. False where unknown (plugins)."""
    family = BY_NAME.get(measure.family)
    return family is not None and family.zero_without_gold


def looks_to(measure: Measure) -> str:
    """How far into a list the measure looks: "cutoff", "last judged document" or "whole list" (plugins: the whole)."""
    family = BY_NAME.get(measure.family)
    if family is None:
        return WHOLE_LIST
    judged_only = dict(measure.params).get("judged_only", False)
    if measure.cutoff is not None and not judged_only:
        return AT_CUTOFF
    return LAST_JUDGED if judged_only else family.tail


def sight(measure: Measure) -> int | None:
    """The rank behind which no document can move the value, None where every rank may: a cutoff counts from the top of
    the list only for measures that do not leave documents out before they cut (judged_only does; a plugin's may)."""
    return measure.cutoff if looks_to(measure) == AT_CUTOFF else None


def _is_object(given: object) -> bool:
    return isinstance(getattr(given, "NAME", None), str) and isinstance(getattr(given, "params", None), dict)


def _from_object(given: Any, rel: int) -> Measure:
    """From a measure of ir_measures, by its attributes: its own names are parsed by nobody."""
    if not _is_object(given):
        raise MeasureError(
            f"{given!r} ({type(given).__name__}) is no measure",
            legal="a text such as 'nDCG@10', or a measure of ir_measures",
        )
    text, key = str(given), fold(given.NAME)
    if key in NO_GATE:
        raise no_gate(text, key, None)
    if key not in ALIASES:
        raise unknown(text)
    return _build(text, ALIASES[key], dict(given.params), rel, False)


def _foreign(text: str, name: str, at: str | None, given: dict[str, Value], rel: int, top1: bool) -> Measure:
    """A plugin's measure: its parameters are numbers, True, False or texts, its cutoff a whole number."""
    cutoff = None if at is None else _cutoff(text, Family(name, "", "", cutoff=OPTIONAL), at)
    level = read_level(given.pop("rel", rel), f"rel in {text!r}")
    params = tuple(sorted((k, literal(v)) for k, v in given.items()))
    return Measure(name, cutoff, level, "linear", params, top1)


def _arguments(text: str, *groups: str | None) -> tuple[dict[str, Value], bool]:
    given: dict[str, Value] = {}
    top1 = False
    for part in (p for group in groups if group is not None for p in group.split(",")):
        name, equals, value = part.partition("=")
        if part == "top1" and not top1:
            top1 = True
        elif not equals or not name or not value:
            raise MeasureError(f"{part!r} in {text!r} is no parameter", legal="name=value, as in AP(rel=2)@100")
        else:
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
            _add(text, given, name, value[1:-1] if quoted else value)
    return given, top1


def _add(text: str, given: dict[str, Value], name: str, value: Value) -> None:
    if name in given and str(given[name]) != str(value):
        what = "the relevance level" if name == "rel" else name
        raise MeasureError(f"{text!r} gives {what} twice: {given[name]} and {value}", mend="Leave one out.")
    given[name] = value


def _numbered(text: str, key: str, at: str | None, given: dict[str, Value]) -> tuple[Family, str]:
    """Names with a number in them: ndcg_cut_10, map_at_1000, P.5, rbp.95. Puts the number into `given`."""
    tail = _TAIL.fullmatch(key) if at is None else None
    if tail is None or tail["stem"] not in ALIASES:
        raise unknown(text)
    stem, sep, number = tail["stem"], tail["sep"], tail["number"]
    family = ALIASES[stem]
    if sep == "_at_":
        what: str | None = "cutoff"
    elif sep.startswith("_cut"):
        what = "cutoff" if stem in ("ndcg", "map") else None
    elif stem == "rbp" and sep == "." and "." not in number:
        what, number = "p", f"0.{number}"  # ranx: rbp.95
    else:
        what = NUMBERED.get(stem)
    if what is None:
        nearest = spell(family, number)
        if stem in ("ndcg", "map") and number.isdigit():
            nearest = f"{nearest} ({stem}_cut.{number})"
        elif stem == "rbp":
            nearest = f"RBP(p=0.{number.removeprefix('0.')})"
        said = text.strip()[: len(stem)]
        raise MeasureError(
            f"{text!r} is no measure: {said} takes no number after {sep!r} (trec_eval ignores it or stops)",
            mend=f"Did you mean {nearest}?",
        )
    _add(text, given, what, number)
    return family, stem


def _build(text: str, family: Family, given: Mapping[str, Any], rel: int, top1: bool) -> Measure:
    """Checks every parameter against the table and leaves out those that have their default."""
    left = dict(given)
    cutoff = None if left.get("cutoff") is None else _cutoff(text, family, left["cutoff"])
    left.pop("cutoff", None)
    if cutoff is None and family.cutoff == REQUIRED:
        whole = {"P": ", or SetP for the whole list", "R": ""}.get(family.name, "")
        raise MeasureError(f"{text!r} needs a cutoff", mend=f"Did you mean {family.name}@10{whole}?")
    gain = "linear"
    if family.name == "nDCG" and "dcg" in left:
        gains = {"log2": "linear", "exp-log2": "exp"}
        if (dcg := str(left.pop("dcg"))) not in gains:
            raise MeasureError(f"dcg={dcg!r} in {text!r} is no DCG", legal="dcg='log2' or dcg='exp-log2'")
        gain = gains[dcg]
    if "rel" in left and not family.level:
        raise MeasureError(
            f"{text!r} gives {family.name} a relevance level, and {family.name} looks at the grades themselves",
            mend=f"Did you mean {spell(family, cutoff)}? To drop low grades, change the judgments.",
        )
    level = read_level(left.pop("rel", rel), f"rel in {text!r}") if family.level else 1
    params: dict[str, Value] = {}
    for name, param in family.params.items():
        if name not in left and param.default is None:
            example = "IPrec@0.1" if name == "recall" else f"{family.name}({name}=3)" + ("@10" if cutoff else "")
            raise MeasureError(f"{text!r} needs {name}, {param.legal}", mend=f"Did you mean {example}?")
        value = read_value(text, name, param, left.pop(name, param.default))
        if value != param.default or param.shown:
            params[name] = value
    if left:
        takes = [*family.params, *(["rel"] if family.level else []), *(["dcg"] if family.name == "nDCG" else [])]
        raise MeasureError(
            f"{text!r}: {family.name} has no parameter {sorted(left)[0]!r} here",
            legal=", ".join(takes) if takes else "none",
            mend=f"Did you mean {spell(family, cutoff)}?",
        )
    return Measure(family.name, cutoff, level, gain, tuple(sorted(params.items())), top1)


def _cutoff(text: str, family: Family, given: object) -> int:
    if family.cutoff == NONE:
        cure = {"Rprec": "P@{}", "IPrec": "IPrec@0.1"}.get(family.name, "")
        number = given if str(given).isdigit() and int(str(given)) else 10
        raise MeasureError(
            f"{text!r} is no measure: {family.name} has no cutoff",
            mend=f"Did you mean {family.name}{' or ' + cure.format(number) if cure else ''}?",
        )
    whole = re.fullmatch(r"[0-9]+", str(given)) if not isinstance(given, bool) else None
    if whole is None or not 1 <= int(whole[0]) <= MAX:
        raise MeasureError(
            f"{str(given)!r} in {text!r} is no cutoff",
            legal=f"a whole number from 1 to {MAX}",
            mend=f"Did you mean {spell(family, given)}?",
        )
    return int(whole[0])
