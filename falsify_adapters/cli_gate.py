"""`falsify-adapters gate`: the four-null gate for runs on the command line."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import (
    EXIT_OF_VERDICT,
    AtLeast,
    Pool,
    Within,
    ascii_only,
    check_output,
    complain,
    emit,
    output_format,
    progress_on,
    use_color,
    write_file,
)
from falsify_adapters.errors import OptionError

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry

WIDTH_OF_A_PIPE = 80


@click.command(context_settings={"show_default": True})
@click.argument("qrels")
@click.argument("runs", metavar="RUN [RUN ...]", nargs=-1, required=True)
@click.option(
    "-m", "--measure", "measures", metavar="M", multiple=True, default=("nDCG@10",),
    help="Measure, in any spelling (nDCG@10, ndcg_cut_10, map, recip_rank, R@100, official). Repeatable.",
)  # fmt: skip
@click.option("--backend", metavar="NAME", default="ir_measures", help="Who computes the scores.")
@click.option(
    "--pool", metavar="X", type=Pool(), default="observed",
    help="Documents that a random ranking draws from: a number, a file of ids, observed, run, candidates:FILE.",
)  # fmt: skip
@click.option("--depth", metavar="K", type=AtLeast(1), help="Cut the runs to K documents a query.")
@click.option("--ties", type=click.Choice(["trec", "input"]), default="trec", help="Order of equal scores.")
@click.option(
    "--queries", type=click.Choice(["judged", "both"]), default="judged",
    help="Queries in the mean: all of the qrels, or those that the run answers too.",
)  # fmt: skip
@click.option("--queries-file", metavar="FILE", help="Use only the queries in FILE, one id a line.")
@click.option(
    "-l", "--level", "rel", metavar="N", type=AtLeast(1), default=1, help="Lowest grade that counts as relevant."
)
@click.option("-M", "--max-docs", metavar="N", type=AtLeast(1), help="Evaluate at most N documents a query.")
@click.option(
    "--duplicates", type=click.Choice(["error", "best"]), default="error",
    help="A document twice in one list: stop, or keep the best-ranked.",
)  # fmt: skip
@click.option("--drop-self", is_flag=True, help="Drop documents whose id is the query's own.")
@click.option("--tau", metavar="X", type=Within(0, 1), default=0.05, help="Smallest gap that counts.")
@click.option("--alpha", metavar="X", type=Within(0, 1), default=0.05, help="Error level of the four nulls together.")
@click.option("--n-boot", metavar="N", type=AtLeast(100), default=1000, help="Draws for the intervals.")
@click.option("--seed", metavar="N", type=AtLeast(0), default=0, help="Seed of all draws.")
@click.option(
    "--null-d", type=click.Choice(["documents", "sets"]), default="documents",
    help="What null D draws by how often it is gold.",
)  # fmt: skip
@click.option(
    "--format", "chosen", metavar="F", default=None, show_default="table, or by FILE's ending",
    help="Format of the report: table, json, or one of a plugin.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Write the report to FILE, not to standard output.")
@click.option("--per-query", metavar="FILE", help="Also write one row per run, measure and query (CSV).")
@click.option(
    "--null", "extra_nulls", metavar="NAME", multiple=True, help="A null of a plugin to beat too. Repeatable."
)
@click.option("--input-format", metavar="NAME", help="Reader of qrels and runs, where their first lines mislead.")
@click.option("--jobs", metavar="N", type=AtLeast(1), default=1, help="Processes to use.")
@click.option("--verbose", is_flag=True, help="Show every row in full, also of many that pass.")
@click.option("--no-progress", is_flag=True, help="Show no progress on the terminal.")
@click.option("--quiet", is_flag=True, help="Print errors only; the exit status tells the verdict.")
@click.pass_obj
def gate(
    registry: Registry,
    /,
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    chosen: str | None,
    output: str | None,
    per_query: str | None,
    verbose: bool,
    no_progress: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Test each RUN, on each measure, against the four nulls.

    QRELS and RUN are files in TREC format (.gz too); one of them may be -, standard input.

    \b
    Exit status: 0 every verdict PASS, 1 some FAIL, 3 none FAIL but some UNDER-NS,
    2 bad input or usage, 4 a fault of this program.
    """
    inputs = (qrels, *runs)
    if inputs.count("-") > 1:
        raise OptionError("standard input (-) can be read only once", legal="one - among QRELS and RUN")
    form = output_format(chosen, output, registry.names("formats"))
    write = registry.resolve("formats", form)
    check_output(output, inputs)
    check_output(per_query, inputs)

    from falsify_adapters.check import gate as compute

    progress = progress_on(sys.stderr, wanted=not (no_progress or quiet))
    result = compute(qrels, list(runs), list(measures), progress=progress, registry=registry, **settings)
    report = result.to_dict()
    if per_query is not None:
        result.save_per_query(per_query)
    if output is not None and output != "-":
        write_file(output, str(write(report)))
        if not quiet:
            complain(f"{result.verdict}, report in {output}", kind="")
    elif not quiet:
        emit(_table(report, verbose) if form == "table" else str(write(report)))
    return EXIT_OF_VERDICT[result.verdict]


def _table(report: dict[str, Any], verbose: bool) -> str:
    """The table as standard output can show it."""
    from falsify_adapters.report.text import render_gate

    width = shutil.get_terminal_size((WIDTH_OF_A_PIPE, 24)).columns if sys.stdout.isatty() else WIDTH_OF_A_PIPE
    return render_gate(
        report,
        width=width,
        color=use_color(sys.stdout),
        ascii_only=ascii_only(sys.stdout),
        details="all" if verbose else "auto",
    )
