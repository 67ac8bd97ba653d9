"""`falsify-adapters gate`: the four-null gate for runs on the command line."""

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
    gate_options,
    measure_option,
    pool_options,
    quiet_options,
    reading_options,
    seed_option,
)
from falsify_adapters.errors import OptionError

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry


@click.command(context_settings={"show_default": True})
@click.argument("qrels")
@click.argument("runs", metavar="RUN [RUN ...]", nargs=-1, required=True)
@measure_option("nDCG@10")
@click.option(
    "--backend", metavar="NAME", default=None, show_default="ir_measures; builtin with --format trec_eval",
    help="Who computes the scores.",
)  # fmt: skip
@pool_options
@reading_options
@gate_options
@seed_option
@click.option(
    "--null", "extra_nulls", metavar="NAME", multiple=True, help="A null of a plugin to beat too. Repeatable."
)
@click.option(
    "--format", "chosen", metavar="F", default=None, show_default="table, or by FILE's ending",
    help="Format of the report: table, json, jsonl, csv, markdown, latex, html, trec_eval, junit, or one of a plugin.",
)  # fmt: skip
@click.option(
    "-o", "--output", "outputs", metavar="FILE", multiple=True,
    help="Write the report to FILE, not to standard output. Repeatable: one run, several formats.",
)  # fmt: skip
@click.option(
    "--per-query", metavar="FILE", help="Also write one row per run, measure and query: .csv, .jsonl, .parquet."
)
@click.option("-q", "each", is_flag=True, help="With trec_eval, json and jsonl: the values of every query too.")
@click.option(
    "-c", "complete", is_flag=True, help="As in trec_eval: mean over all queries of QRELS, as is the default."
)
@click.option("--jobs", metavar="N", type=AtLeast(1), default=1, help="Processes to use.")
@click.option("--verbose", is_flag=True, help="Show every row in full, also of many that pass.")
@quiet_options
@click.pass_obj
def gate(
    registry: Registry,
    /,
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    chosen: str | None,
    outputs: tuple[str, ...],
    per_query: str | None,
    each: bool,
    complete: bool,
    backend: str | None,
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
    check_inputs(inputs, "QRELS and RUN")
    if complete and settings["queries"] == "both":
        raise OptionError(
            "-c counts queries that the run lacks, and --queries both leaves them out", legal="one of them"
        )
    forms = [output_format(chosen, output, registry.names("formats")) for output in outputs or (None,)]
    writers = [registry.resolve("formats", form) for form in forms]
    form, write = forms[0], writers[0]
    if chosen is not None and len(outputs) > 1:
        raise OptionError(
            "one format for several files", where="--format", legal="-o FILE alone: its ending names the format"
        )
    for output in (*outputs, per_query):
        check_output(output, inputs)
    if len(set(outputs)) < len(outputs) or ("-" in outputs and len(outputs) > 1):
        raise OptionError(f"{', '.join(outputs)}: each report needs a file of its own", where="-o")
    if per_query is not None and (per_query in outputs or not per_query.endswith((".csv", ".jsonl", ".parquet"))):
        legal = "a file ending in .csv, .jsonl or .parquet, other than that of -o"
        raise OptionError(f"{per_query!r} is not legal", where="--per-query", legal=legal)

    from falsify_adapters.check import gate as compute

    progress = progress_on(sys.stderr, wanted=not (no_progress or quiet))
    # trec_eval's lines are those of trec_eval 10; inside ir_measures and pytrec_eval is 9, with another IPrec.
    backend = backend or ("builtin" if "trec_eval" in forms else "ir_measures")
    result = compute(
        qrels, list(runs), list(measures), backend=backend, progress=progress, registry=registry, **settings
    )
    report = result.to_dict(per_query=each or "html" in forms)
    if per_query is not None:
        result.save_per_query(per_query)
    if outputs and outputs != ("-",):
        for output, writer in zip(outputs, writers, strict=True):
            write_file(output, str(writer(report)))
        if not quiet:
            complain(f"{result.verdict}, report in {', '.join(outputs)}", kind="")
    elif not quiet and form == "table":
        emit_table(report, details="all" if verbose else "auto")
    elif not quiet:
        emit(str(write(report)))
    return EXIT_OF_VERDICT[result.verdict]
