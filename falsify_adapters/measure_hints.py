"""Values of a measure's parameters, checked; and the messages that name the nearest legal spelling."""

from __future__ import annotations

import difflib
import math
import re
from typing import Any

from falsify_adapters.errors import MeasureError
from falsify_adapters.measure_names import (
    ALIASES,
    BY_NAME,
    INSTEAD,
    NO_GATE,
    NONE,
    OPTIONAL,
    REQUIRED,
    Family,
    Param,
    Value,
    fold,
)

MAX = 2**31 - 1
SEE = "`falsify-adapters measures` lists them all."


def read_level(given: object, what: str) -> int:
    whole = re.fullmatch(r"[0-9]+", str(given)) if not isinstance(given, bool) else None
    if whole is None or not 1 <= int(whole[0]) <= MAX:
        raise MeasureError(f"{what} is {given}", legal="a whole number from 1", mend="As in AP(rel=2)@100.")
    return int(whole[0])


def read_value(text: str, name: str, param: Param, given: Any) -> Value:
    usual = param.default if param.default is not None else {"recall": 0.1}.get(name, 3)
    wrong = MeasureError(
        f"{name}={given} in {text!r} is out of range", legal=f"{name}: {param.legal}", mend=f"As in {name}={usual}."
    )
    if param.type is bool:
        if str(given).casefold() not in ("true", "false"):
            raise wrong
        return str(given).casefold() == "true"
    try:
        number = float(given)
    except (TypeError, ValueError):
        raise wrong from None
    inside = param.low < number < param.high if param.open else param.low <= number <= param.high
    if not math.isfinite(number) or not inside or (param.type is int and not number.is_integer()):
        raise wrong
    if name == "recall" and abs(round(number, 2) - number) > 1e-12:
        raise MeasureError(
            f"recall={given} in {text!r} has more than two decimals, and trec_eval reads two",
            mend=f"Did you mean IPrec@{round(number, 2)}?",
        )
    return int(number) if param.type is int else number


def literal(given: Value) -> Value:
    """What the value of a plugin's parameter is: True, False, a whole number, a number or a text."""
    if not isinstance(given, str):
        return given
    if given in ("True", "False"):
        return given == "True"
    for kind in (int, float):
        try:
            return kind(given)
        except ValueError:
            continue
    return given


def spell(family: Family, number: object = None) -> str:
    """A legal spelling of the family with the user's number as its cutoff, as near as there is one."""
    if family.name == "IPrec":
        return "IPrec@0.1"
    inner = ",".join(f"{n}=3" for n, p in family.params.items() if p.default is None)
    name = f"{family.name}({inner})" if inner else family.name
    if family.cutoff == NONE:
        return name
    try:
        value = float(str(number))
    except ValueError:
        value = 10.0 if number is not None or family.cutoff == REQUIRED else 0.0
    if number is None and family.cutoff == OPTIONAL:
        return name
    return f"{name}@{int(value) if value.is_integer() and 1 <= value <= MAX else 10}"


def number_in(text: str) -> str | None:
    """The number that was most likely meant as a cutoff; "10" where a cutoff was meant and is no number."""
    found = re.findall(r"(?<![0-9=.-])[0-9]+(?![0-9]*[.)])", text)
    return found[-1] if found else "10" if re.search(r"@|_at_|_cut", text) else None


def no_gate(text: str, key: str, at: str | None) -> MeasureError:
    key = key if key in NO_GATE else key.rstrip("0123456789").rstrip("_.")
    instead = INSTEAD.get(key)
    cure = f"Did you mean {spell(BY_NAME[instead], at or number_in(text))}?" if instead else f"Use nDCG@10. {SEE}"
    return MeasureError(f"{text!r} has no gate: {NO_GATE[key]}", mend=cure)


def unknown(text: str) -> MeasureError:
    """Names the nearest spelling, with the user's cutoff put in."""
    name = re.split(r"[@(]|-l[0-9]", fold("".join(text.split())))[0]
    stem = re.sub(r"(_at_|_cut[_.]|[_.])?-?[0-9.]*$", "", name) or name
    close = difflib.get_close_matches(stem, ALIASES, n=1, cutoff=0.6) or difflib.get_close_matches(name, ALIASES, n=1)
    family = ALIASES[close[0]] if close else BY_NAME["nDCG"]
    nearest = spell(family, number_in(text))
    lead = f"Did you mean {nearest}?" if close else f"Legal: {nearest}, AP, RR@10 and the like."
    return MeasureError(f"{text!r} is no known measure", mend=f"{lead} {SEE}")
