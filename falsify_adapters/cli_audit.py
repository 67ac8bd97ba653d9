"""`falsify-adapters audit`: published results and benchmark folders, after the fact."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import check_output, complain, emit, emit_table, output_format, progress_on, write_file
from falsify_adapters.cli_options import AtLeast, Within
from falsify_adapters.errors import OptionError

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry

FINDINGS = ("below_chance", "indistinguishable", "above", "unknown")
FORMATS = ("table", "json", "jsonl", "csv", "html")


@click.group()
def audit() -> None:
    """Audit published results and benchmark folders, after the fact."""


@audit.command(context_settings={"show_default": True})
@click.argument("path")
@click.option(
    "--stats", metavar="PATH", default=None, show_default="those of an installed mteb",
    help="Descriptive statistics: MTEB's folder, a .tar.gz of it, or JSON Lines.",
)  # fmt: skip
@click.option(
    "-m", "--measure", "measures", metavar="M", multiple=True, default=("main_score",),
    help="Value to judge: main_score, ndcg_at_10, map, recall_at_100, ... Repeatable.",
)  # fmt: skip
@click.option(
    "--task", "tasks", metavar="PATTERN", multiple=True, help="Only tasks that fit, as *Reranking. Repeatable."
)
@click.option(
    "--model", "models", metavar="PATTERN", multiple=True, help="Only models that fit, as openai/*. Repeatable."
)
@click.option(
    "--random-model", metavar="PATTERN", default=None, show_default="a random baseline, by its name",
    help="Model whose results are a measured floor; none: go by statistics alone.",
)  # fmt: skip
@click.option("--tau", metavar="X", type=Within(0, 1), default=0.05, help="Smallest gap that counts.")
@click.option(
    "-o", "--output", metavar="FILE or FOLDER", default=None,
    help="A folder (Parquet parts) or a .jsonl file grows as work is done; any other file is the report.",
)  # fmt: skip
@click.option("--resume", is_flag=True, help="Go on with what is in -o.")
@click.option("--format", "chosen", type=click.Choice(FORMATS), default=None, help="Format of the report.")
@click.option("--jobs", metavar="N", type=AtLeast(1), default=1, help="Processes here.")
@click.option("--cluster", metavar="ADDRESS", default=None, help="A running Dask scheduler, as tcp://HOST:8786.")
@click.option(
    "--batch", metavar="N", type=AtLeast(1), default=200, help="Files that are handed out and kept at a time."
)
@click.option(
    "--fail-on", type=click.Choice(FINDINGS), multiple=True, help="Exit status 1 where there is such a finding."
)
@click.option("--no-progress", is_flag=True, help="Show no progress on the terminal.")
@click.option("--quiet", is_flag=True, help="Print errors only.")
@click.pass_obj
def mteb(
    registry: Registry,
    /,
    path: str,
    output: str | None,
    chosen: str | None,
    fail_on: tuple[str, ...],
    no_progress: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Judge MTEB's published scores: below chance, as random, above, or unknown and why.

    PATH is a tree of result files (MODEL/REVISION/TASK.json), a .tar.gz of one, or one file.

    \b
      falsify-adapters audit mteb results --stats descriptive_stats -o audit.html

    \b
    Exit status: 0, or 1 with --fail-on where there is such a finding; 2 bad
    input or usage, 4 a fault of this program.
    """
    grows = output is not None and (output.endswith(".jsonl") or "." not in output.rsplit("/", 1)[-1])
    form = output_format(chosen, None if grows else output, FORMATS)
    if not grows:
        check_output(output, (path,))
        if settings["resume"]:
            raise OptionError("only what grows can be gone on with", where="--resume", legal="-o FOLDER or FILE.jsonl")
    write = registry.resolve("formats", form)

    from falsify_adapters.audit.api import audit_mteb

    progress = progress_on(sys.stderr, wanted=not (no_progress or quiet))
    report = audit_mteb(path, output=output if grows else None, progress=progress, **settings)
    if output is not None and output != "-" and not grows:
        write_file(output, str(write(report.to_dict())))
    if not quiet and output is not None and output != "-":
        complain(f"{sum(report.summary.counts.values())} scores in {output}", kind="")
    elif not quiet and form == "table":
        emit_table(report.to_dict())
    elif not quiet:
        emit(str(write(report.to_dict())))
    return int(any(report.summary.counts[name] for name in fail_on))
