"""`falsify-adapters floor`: the noise floor of a benchmark, and whether measured noise and scores fit it."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import (
    EXIT_FAIL,
    EXIT_PASS,
    check_inputs,
    check_output,
    complain,
    emit,
    emit_table,
    progress_on,
    write_file,
    writer_of,
)
from falsify_adapters.cli_options import (
    AtLeast,
    FromTo,
    Measured,
    Sizes,
    measure_option,
    output_option,
    pool_options,
    quiet_options,
    reading_options,
    seed_option,
)
from falsify_adapters.errors import OptionError
from falsify_adapters.report.saving import formats_of

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry


@click.command(context_settings={"show_default": True})
@click.argument("qrels")
@measure_option()
@click.option("--noise", metavar="RUN", multiple=True, help="Check 1: a run made with random vectors. Repeatable.")
@click.option(
    "--measured", metavar="MEASURE=VALUE", type=Measured(), multiple=True,
    help="Check 1: the noise score that was measured, such as RR@10=0.0225, typed with all its digits. Repeatable.",
)  # fmt: skip
@click.option(
    "--measured-seeds", metavar="S", type=AtLeast(1), default=1, help="Noise runs that --measured is the mean of."
)
@click.option(
    "--candidates", metavar="UNIT=N,...", type=Sizes(), default=None, help="Check 1: pool sizes to test, by unit."
)
@click.option("--check-alpha", metavar="X", type=FromTo(1e-6, 0.5), default=0.01, help="Level of the tests on noise.")
@click.option("--run", metavar="RUN", help="Check 2: the run of the system.")
@click.option(
    "--score", metavar="MEASURE=VALUE", type=Measured(), multiple=True,
    help="Check 2: the score of the system, such as RR@10=0.358. Repeatable.",
)  # fmt: skip
@click.option(
    "--min-signal", metavar="X", type=FromTo(0, math.inf), default=2.0, help="Check 2: least score over noise."
)
@click.option("--min-headroom", metavar="X", type=FromTo(0, 1), default=0.5, help="Check 2: least ceiling - floor.")
@click.option(
    "--simulate", metavar="S", type=AtLeast(2), default=None,
    help="Check the harness: S random runs through mapping, ranking and backend have to score the floor.",
)  # fmt: skip
@click.option(
    "--backend",
    metavar="NAME",
    default="ir_measures",
    help="Who computes the scores of --simulate, and measures without a formula.",
)
@pool_options
@reading_options
@seed_option
@click.option(
    "--format", "chosen", metavar="F", default=None, show_default="table, or by FILE's ending",
    help=f"Format of the report: {', '.join(formats_of('floor'))}, or one of a plugin.",
)  # fmt: skip
@output_option
@quiet_options
@click.pass_obj
def floor(
    registry: Registry,
    /,
    qrels: str,
    measures: tuple[str, ...],
    noise: tuple[str, ...],
    measured: tuple[str, ...],
    measured_seeds: int,
    candidates: dict[str, int] | None,
    run: str | None,
    score: tuple[str, ...],
    simulate: int | None,
    backend: str,
    chosen: str | None,
    output: str | None,
    no_progress: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """The noise floor of a benchmark: what random ranking scores on it.

    QRELS is a file in TREC format (.gz too). Without -m the measures are those that --measured and --score name, or
    else nDCG@10.

    \b
    Check 1, with --noise or --measured: is the noise where probability puts it?
    Check 2, with --run or --score:      is there room above the floor?
    With --simulate:                     does the harness agree with the floor?

    \b
      falsify-adapters floor QRELS --pool 218 --measured RR@10=0.02246 \\
          --measured-seeds 20 --score RR@10=0.358 --candidates chunks=1052,files=218

    \b
    Exit status: 0 every check passes, 1 a check says above, below, fail or
    differs, 2 bad input or usage, 4 a fault of this program.
    """
    if measured_seeds > 1 and not measured:
        raise OptionError("there is no --measured that it belongs to", where="--measured-seeds")
    if candidates and not (measured or noise):
        raise OptionError(
            "there is no measured noise to hold the candidates against",
            where="--candidates",
            mend="Give noise runs with --noise, or their score with --measured.",
        )
    inputs = tuple(path for path in (qrels, *noise, run) if path is not None)
    check_inputs(inputs, "QRELS, --noise and --run")
    form, write = writer_of(registry, "floor", chosen, output)
    check_output(output, inputs)

    from falsify_adapters.check_floor import floor as compute

    result = compute(
        qrels,
        list(measures) or None,
        noise=list(noise),
        measured=list(measured) or None,
        measured_seeds=measured_seeds,
        run=run,
        score=list(score) or None,
        candidates=candidates,
        simulate=simulate,
        backend=backend,
        progress=progress_on(sys.stderr, wanted=not (no_progress or quiet)),
        registry=registry,
        **settings,
    )
    report = result.to_dict()
    if output is not None and output != "-":
        write_file(output, str(write(report)))
        if not quiet:
            complain(f"{result.verdict}, report in {output}", kind="")
    elif not quiet and form == "table":
        emit_table(report)
    elif not quiet:
        emit(str(write(report)))
    return EXIT_FAIL if result.failed else EXIT_PASS
