"""`falsify-adapters audit`: published results and benchmark folders, after the fact."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import (
    EXIT_OF_VERDICT,
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
    only_one,
    output_option,
    quiet_options,
    seed_option,
)
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
@click.option("--qrels", metavar="PATH", help="For saved predictions: qrels, with {task}, {split}, {subset} filled in.")
@click.option("--pool", metavar="X", default=None, help="For saved predictions: N or a file, as for --qrels.")
@click.option("--drop-self", is_flag=True, help="For saved predictions: drop a query's own document (ArguAna, Quora).")
@click.option("--tau", metavar="X", type=Within(0, 1), default=0.05, help="Smallest gap that counts.")
@click.option(
    "-o", "--output", metavar="FILE or FOLDER", multiple=True, callback=only_one,
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
    qrels: str | None,
    pool: str | None,
    drop_self: bool,
    no_progress: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Judge MTEB's published scores: below chance, as random, above, or unknown and why.

    PATH is a tree of result files (MODEL/REVISION/TASK.json), a .tar.gz of one, or one file. With --qrels it holds
    predictions that MTEB saved (TASK_predictions.json), and each goes through the whole gate.

    \b
      falsify-adapters audit mteb results --stats descriptive_stats -o audit.html
      falsify-adapters audit mteb predictions --qrels 'qrels/{task}.txt' --pool 1400

    \b
    Exit status: 0, or 1 with --fail-on where there is such a finding; 2 bad
    input or usage, 4 a fault of this program.
    """
    from falsify_adapters.audit.gated import predictions_in

    if qrels is not None:
        return _predictions(registry, path, qrels, pool or "observed", drop_self, output, chosen, quiet, settings)
    if predictions_in(path) and not path.endswith((".tar.gz", ".tgz", ".tar")):
        raise OptionError(
            "holds predictions that MTEB saved, and they are judged against qrels", where=path,
            legal="--qrels PATH, in which {task}, {split} and {subset} are filled in",
        )  # fmt: skip
    if pool is not None or drop_self:
        raise OptionError("belongs to saved predictions", where="--pool, --drop-self", legal="together with --qrels")
    grows = _grows(output)
    form = output_format(chosen, None if grows else output, FORMATS)
    if not grows:
        check_output(output, (path,))
        if settings["resume"]:
            raise OptionError("only what grows can be gone on with", where="--resume", legal="-o FOLDER or FILE.jsonl")
    write = registry.resolve("formats", form)

    from falsify_adapters.audit.api import audit_mteb

    progress = progress_on(sys.stderr, wanted=not (no_progress or quiet), unit="files")
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


def _grows(output: str | None) -> bool:
    """Whether rows go there as they are made: into JSON Lines, or a folder, which has no ending or is there already."""
    if output is None or output == "-":
        return False
    path = Path(output)
    return path.suffix in ("", ".jsonl") or output.endswith("/") or path.is_dir()


def _predictions(
    registry: Registry, path: str, qrels: str, pool: str, drop_self: bool, output: str | None, chosen: str | None,
    quiet: bool, settings: dict[str, Any],
) -> int:  # fmt: skip
    from falsify_adapters.audit.gated import audit_predictions, loader_of_files

    form = output_format(chosen, output, registry.names("formats"))
    check_output(output, (path,))
    measures = [m for m in settings["measures"] if m != "main_score"] or ["nDCG@10"]
    report = audit_predictions(
        path, loader_of_files(qrels, pool), measures, tasks=settings["tasks"], models=settings["models"],
        tau=settings["tau"], drop_self=drop_self,
    )  # fmt: skip
    return _show_gate(registry, report, form, output, quiet)


def _show_gate(registry: Registry, report: Any, form: str, output: str | None, quiet: bool) -> int:
    made = report.to_dict(per_query=form == "html")
    if output is not None and output != "-":
        write_file(output, str(registry.resolve("formats", form)(made)))
        if not quiet:
            complain(f"{report.verdict}, report in {output}", kind="")
    elif not quiet and form == "table":
        emit_table(made)
    elif not quiet:
        emit(str(registry.resolve("formats", form)(made)))
    return EXIT_OF_VERDICT[report.verdict]


@audit.command(context_settings={"show_default": True})
@click.argument("path")
@click.option("--run", "runs", metavar="RUN", multiple=True, required=True, help="TREC run or BEIR's JSON. Repeatable.")
@click.option("--split", metavar="NAME", default="test", help="Which qrels: qrels/NAME.tsv.")
@click.option("-m", "--measure", "measures", metavar="M", multiple=True, default=("nDCG@10",), help="As for gate.")
@click.option(
    "--keep-identical-ids", is_flag=True, help="Keep documents whose id is the query's own, which BEIR drops."
)
@click.option("--backend", metavar="NAME", default="ir_measures", help="Who computes the scores.")
@gate_options
@seed_option
@click.option("--depth", metavar="K", type=AtLeast(1), default=None, help="Cut to K documents a query.")
@click.option("--format", "chosen", metavar="F", default=None, help="Format of the report, as for gate.")
@output_option
@quiet_options
@click.pass_obj
def beir(
    registry: Registry,
    /,
    path: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    keep_identical_ids: bool,
    chosen: str | None,
    output: str | None,
    no_progress: bool,
    quiet: bool,
    **settings: Any,
) -> int:
    """Gate runs over a BEIR folder: qrels/SPLIT.tsv, and N from corpus.jsonl.

    \b
    Exit status as for gate: 0 every verdict PASS, 1 some FAIL, 3 none FAIL but
    some UNDER-NS, 2 bad input or usage, 4 a fault of this program.
    """
    form = output_format(chosen, output, registry.names("formats"))
    check_output(output, runs)

    from falsify_adapters.audit.gated import audit_beir_folder

    report = audit_beir_folder(
        path, runs, list(measures), ignore_identical_ids=not keep_identical_ids, registry=registry,
        progress=progress_on(sys.stderr, wanted=not (no_progress or quiet)), **settings,
    )  # fmt: skip
    return _show_gate(registry, report, form, output, quiet)
