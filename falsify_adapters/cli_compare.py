"""`falsify-adapters compare`: runs side by side, with significance and the gate."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import (
    EXIT_OF_VERDICT,
    check_inputs,
    check_output,
    complain,
    emit,
    emit_table,
    output_format,
    progress_on,
    write_file,
)
from falsify_adapters.cli_options import (
    AtLeast,
    Within,
    gate_options,
    measure_option,
    output_option,
    pool_options,
    quiet_options,
    reading_options,
    seed_option,
)

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry


@click.command(context_settings={"show_default": True})
@click.argument("qrels")
@click.argument("runs", metavar="RUN RUN ...", nargs=-1, required=True)
@measure_option("nDCG@10")
@click.option(
    "--stat-test", type=click.Choice(["student", "fisher", "tukey"]), default="student",
    help="Paired t test, randomization test, or Tukey's HSD.",
)  # fmt: skip
@click.option("--max-p", metavar="P", type=Within(0, 1), default=0.01, help="Largest p of a significant difference.")
@click.option(
    "--correction", type=click.Choice(["none", "holm"]), default="none", help="Of the p-values, over all comparisons."
)
@click.option(
    "--permutations", "n_permutations", metavar="N", type=AtLeast(1), default=None,
    show_default="1000, more under holm", help="Of fisher.",
)  # fmt: skip
@click.option(
    "--gate-column", type=click.Choice(["one", "each"]), default="one", help="One for all measures, or one each."
)
@click.option("--digits", "rounding_digits", metavar="N", type=AtLeast(2), default=3, help="Decimals of the scores.")
@click.option("--percentages", "show_percentages", is_flag=True, help="Show scores in per cent.")
@click.option("--backend", metavar="NAME", default="ir_measures", help="Who computes the scores.")
@pool_options
@reading_options
@gate_options
@seed_option
@click.option(
    "--format", "chosen", metavar="F", default=None, show_default="table, or by FILE's ending",
    help="Format of the report: table, json, jsonl, csv, markdown, latex, html, trec_eval, junit, or one of a plugin.",
)  # fmt: skip
@output_option
@click.option("--jobs", metavar="N", type=AtLeast(1), default=1, help="Processes to use.")
@quiet_options
@click.pass_obj
def compare(
    registry: Registry,
    /,
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    chosen: str | None,
    output: str | None,
    no_progress: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Compare runs: scores, which are significantly better, and which are real.

    The table is ranx's: a superscript names the runs that are significantly worse. The gate's column says PASS, or
    which null decides and by how much.

    \b
    Exit status: 0 every verdict PASS, 1 some FAIL, 3 none FAIL but some UNDER-NS,
    2 bad input or usage, 4 a fault of this program.
    """
    inputs = (qrels, *runs)
    check_inputs(inputs, "QRELS and RUN")
    form = output_format(chosen, output, registry.names("formats"))
    write = registry.resolve("formats", form)
    check_output(output, inputs)

    from falsify_adapters.check_compare import compare as compute

    progress = progress_on(sys.stderr, wanted=not (no_progress or quiet))
    result = compute(qrels, list(runs), list(measures), progress=progress, registry=registry, **settings)
    if output is not None and output != "-":
        write_file(output, str(write(result.data)))
        if not quiet:
            complain(f"{result.verdict}, report in {output}", kind="")
    elif not quiet and form == "table":
        emit_table(result.data)
    elif not quiet:
        emit(str(write(result.data)))
    return EXIT_OF_VERDICT[result.verdict]
