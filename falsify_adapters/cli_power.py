"""`falsify-adapters power`: what a benchmark can certify, before any run exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import (
    check_inputs,
    check_output,
    complain,
    emit,
    emit_table,
    write_file,
    writer_of,
)
from falsify_adapters.cli_options import AtLeast, FromTo, Within, measure_option, output_option
from falsify_adapters.report.saving import formats_of

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry


@click.command(context_settings={"show_default": True})
@click.argument("qrels")
@measure_option("nDCG@10")
@click.option(
    "--pool", metavar="X", default="observed", help="Documents that a random ranking draws from, as for floor."
)
@click.option("--depth", metavar="K", type=AtLeast(1), help="Documents retrieved; all of the pool where left out.")
@click.option(
    "--gap", "gaps", metavar="X", type=FromTo(1e-6, 1), multiple=True, default=(0.06, 0.1, 0.2),
    help="A true gap: how many queries does it take? Repeatable.",
)  # fmt: skip
@click.option("--chance", metavar="P", type=Within(0, 1), default=0.8, help="Share of tries in which a gap must pass.")
@click.option("--tau", metavar="X", type=Within(0, 1), default=0.05, help="Smallest gap that counts.")
@click.option("--alpha", metavar="X", type=Within(0, 1), default=0.05, help="Error level of the four nulls together.")
@click.option("-l", "--level", "rel", metavar="N", type=AtLeast(1), default=1, help="Lowest grade that is relevant.")
@click.option("--queries-file", metavar="FILE", help="Use only the queries in FILE, one id a line.")
@click.option("--input-format", metavar="NAME", help="Reader of the qrels, where their first lines mislead.")
@click.option(
    "--format", "chosen", metavar="F", default=None, show_default="table, or by FILE's ending",
    help=f"Format of the report: {', '.join(formats_of('power'))}, or one of a plugin.",
)  # fmt: skip
@output_option
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.pass_obj
def power(
    registry: Registry,
    /,
    qrels: str,
    measures: tuple[str, ...],
    gaps: tuple[float, ...],
    chosen: str | None,
    output: str | None,
    quiet: bool,
    **settings: Any,
) -> None:
    """Which gap the gate could certify with the queries of QRELS.

    \b
      falsify-adapters power QRELS --pool 528155 -m nDCG@10 --gap 0.1
    """
    check_inputs((qrels,), "QRELS")
    form, write = writer_of(registry, "power", chosen, output)
    check_output(output, (qrels,))

    from falsify_adapters.check_power import power as compute

    report = compute(qrels, list(measures), gaps=gaps, registry=registry, **settings).to_dict()
    if output is not None and output != "-":
        write_file(output, str(write(report)))
        if not quiet:
            complain(f"report in {output}", kind="")
    elif not quiet and form == "table":
        emit_table(report)
    elif not quiet:
        emit(str(write(report)))
