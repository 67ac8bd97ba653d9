"""Options: their types, and those that several commands share, each defined once."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING:  # generic from click 8.4 on, and not before
    FloatType = click.ParamType[float]
    IntType = click.ParamType[int]
    PoolType = click.ParamType[int | str]
    TextType = click.ParamType[str]
    SizesType = click.ParamType[dict[str, int]]
else:
    FloatType = IntType = PoolType = TextType = SizesType = click.ParamType


class Within(FloatType):
    """A number strictly between two ends, neither of them legal."""

    name = "number"

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high

    @property
    def legal(self) -> str:
        return f"a number above {self.low:g} and below {self.high:g}"

    def holds(self, number: float) -> bool:
        return self.low < number < self.high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number. Legal: {self.legal}.", param, ctx)
        if not (math.isfinite(number) and self.holds(number)):
            self.fail(f"{value} is out of range. Legal: {self.legal}.", param, ctx)
        return number


class FromTo(Within):
    """A number between two ends, both of them legal; no upper end where it is infinite."""

    @property
    def legal(self) -> str:
        return f"a number from {self.low:g} " + (f"to {self.high:g}" if math.isfinite(self.high) else "up")

    def holds(self, number: float) -> bool:
        return self.low <= number <= self.high


class AtLeast(IntType):
    """A whole number with a lowest legal value."""

    name = "integer"

    def __init__(self, low: int) -> None:
        self.low = low

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        legal = f"a whole number, {self.low} or more"
        try:
            number = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number. Legal: {legal}.", param, ctx)
        if number < self.low:
            self.fail(f"{number} is out of range. Legal: {legal}.", param, ctx)
        return number


class Pool(PoolType):
    """A number of documents, or the text that names a pool ("observed", "run", a file, ...)."""

    name = "pool"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        if isinstance(value, int):
            return value
        try:
            number = int(value)
        except ValueError:
            if not value:
                self.fail("the pool is empty text. Legal: a number, a file, observed, run, ...", param, ctx)
            return str(value)
        if number < 1:
            self.fail(f"{number} documents are no pool. Legal: a whole number, 1 or more.", param, ctx)
        return number


class Measured(TextType):
    """MEASURE=VALUE, left as it was typed: how many digits there are says how exact the value is."""

    name = "measured"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        legal = "Legal: MEASURE=VALUE with a value from 0 to 1, such as RR@10=0.0225."
        name, equals, number = str(value).rpartition("=")  # the name may hold one too: AP(rel=2)@100
        if not (equals and name.strip()):
            self.fail(f"{value!r} names no measure and value. {legal}", param, ctx)
        try:
            inside = 0.0 <= float(number) <= 1.0
        except ValueError:
            self.fail(f"{number!r} is not a number. {legal}", param, ctx)
        if not inside:
            self.fail(f"{number} is out of range. {legal}", param, ctx)
        return str(value)


class Sizes(SizesType):
    """UNIT=N,UNIT=N: pool sizes by the unit they are counted in."""

    name = "sizes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dict[str, int]:
        if isinstance(value, dict):
            return value
        sizes: dict[str, int] = {}
        for part in str(value).split(","):
            unit, _, number = (text.strip() for text in part.partition("="))
            if not (unit and number.isascii() and number.isdigit() and int(number)):
                self.fail(f"{part!r} names no unit and number. Legal: UNIT=N, as in chunks=1052,files=218.", param, ctx)
            if unit in sizes:
                self.fail(f"{unit!r} is given twice. Legal: each unit once.", param, ctx)
            sizes[unit] = int(number)
        return sizes


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Several options as one decorator; --help lists them in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def measure_option(*default: str) -> Callable[[F], F]:
    """-m, with the measures that are meant where it is not given."""
    return click.option(
        "-m", "--measure", "measures", metavar="M", multiple=True, default=default,
        help="Measure, in any spelling (nDCG@10, ndcg_cut_10, map, recip_rank, R@100, official). Repeatable.",
    )  # fmt: skip


format_option = click.option(
    "--format", "chosen", type=click.Choice(["table", "json"]), default="table", show_default=True
)

pool_options = together(
    click.option(
        "--pool", metavar="X", type=Pool(), default="observed",
        help="Documents that a random ranking draws from: a number, a file of ids, observed, run, candidates:FILE.",
    ),
    click.option("--unit", metavar="NAME:ARG", help="A mapping by name, as sep:#; those of plugins too."),
    click.option("--unit-sep", metavar="S", help="Ids are chunks: the document id ends before the last S."),
    click.option("--unit-regex", metavar="RE", help="Ids are chunks: the document id is the group of RE."),
    click.option("--unit-map", metavar="FILE", help="Ids are chunks: FILE gives chunk id and document id."),
    click.option("--chunks", metavar="FILE", help="All chunk ids of the collection: gives the pool and chunk counts."),
    click.option(
        "--depth", metavar="K", type=AtLeast(1), help="Cut to K documents a query, or K chunks where ids are chunks."
    ),
)  # fmt: skip

reading_options = together(
    click.option(
        "--ties", type=click.Choice(["trec", "input", "expected"]), default="trec",
        help="Order of equal scores; expected: the mean over all orders.",
    ),
    click.option(
        "--queries", type=click.Choice(["judged", "both"]), default="judged",
        help="Queries in the mean: all of the qrels, or those that the run answers too.",
    ),
    click.option("--queries-file", metavar="FILE", help="Use only the queries in FILE, one id a line."),
    click.option(
        "-l", "--level", "rel", metavar="N", type=AtLeast(1), default=1, help="Lowest grade that counts as relevant."
    ),
    click.option("-M", "--max-docs", metavar="N", type=AtLeast(1), help="Evaluate at most N documents a query."),
    click.option(
        "--duplicates", type=click.Choice(["error", "best"]), default="error",
        help="A document twice in one list: stop, or keep the best-ranked.",
    ),
    click.option("--drop-self", is_flag=True, help="Drop documents whose id is the query's own."),
    click.option("--input-format", metavar="NAME", help="Reader of qrels and runs, where their first lines mislead."),
)  # fmt: skip

gate_options = together(
    click.option("--tau", metavar="X", type=Within(0, 1), default=0.05, help="Smallest gap that counts."),
    click.option(
        "--alpha", metavar="X", type=Within(0, 1), default=0.05, help="Error level of the four nulls together."
    ),
    click.option("--n-boot", metavar="N", type=AtLeast(100), default=1000, help="Draws for the intervals."),
    click.option(
        "--null-d", type=click.Choice(["documents", "sets"]), default="documents",
        help="What null D draws by how often it is gold.",
    ),
    click.option(
        "--clusters", metavar="FILE", help="Query and cluster: queries in one are no independent witnesses."
    ),
)  # fmt: skip

seed_option = click.option("--seed", metavar="N", type=AtLeast(0), default=0, help="Seed of all draws.")


def only_one(_ctx: click.Context, param: click.Parameter, given: tuple[str, ...]) -> str | None:
    """The value of an option that may be given once: click would take the last in silence."""
    if len(given) > 1:
        raise click.BadParameter(f"{', '.join(given)}: one file at a time here (gate takes several)", param=param)
    return given[0] if given else None


output_option = click.option(
    "-o", "--output", metavar="FILE", multiple=True, callback=only_one,
    help="Write the report to FILE, not to standard output.",
)  # fmt: skip
quiet_options = together(
    click.option("--no-progress", is_flag=True, help="Show no progress on the terminal."),
    click.option("--quiet", is_flag=True, help="Print errors only; the exit status tells the verdict."),
)
