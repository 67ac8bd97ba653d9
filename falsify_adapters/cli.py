"""The command line: `falsify-adapters COMMAND` and `python -m falsify_adapters COMMAND`.

Commands are loaded when they are called, and what computes is imported inside them, so that --help is quick.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from falsify_adapters import __version__
from falsify_adapters.cli_common import EXIT_FAULT, EXIT_INTERRUPTED, EXIT_USAGE, PROGRAM, complain
from falsify_adapters.errors import FalsifyError

if TYPE_CHECKING:
    from falsify_adapters.registry import Registry

TRACEBACK = "FALSIFY_ADAPTERS_TRACEBACK"


class Commands(click.Group):
    """The commands in the registry, ours and those of plugins, each imported when it is called."""

    def registry(self, ctx: click.Context) -> Registry:
        """The registry of this call, which commands hand on as `ctx.obj`."""
        from falsify_adapters.registry import Registry

        if ctx.obj is None:
            ctx.obj = Registry()
        found: Registry = ctx.obj
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.registry(ctx).names("commands"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.registry(ctx).resolve("commands", cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        offers = [offered.offer for offered in self.registry(ctx).offers("commands")]
        with formatter.section("Commands"):
            formatter.write_dl([(offer.name, offer.summary) for offer in offers])


@click.group(cls=Commands, name=PROGRAM, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name=PROGRAM)
def cli() -> None:
    """Is this retrieval score real?

    Tests the scores of TREC runs against four nulls and the noise floor, on the measures of ir_measures,
    pytrec_eval and ranx.

    \b
      falsify-adapters demo
      falsify-adapters gate QRELS RUN -m nDCG@10 --pool 191175

    \b
    Exit status: 0 every verdict PASS, 1 some FAIL, 3 none FAIL but some UNDER-NS,
    2 bad input or usage, 4 a fault of this program.
    """


def run(args: Sequence[str]) -> int:
    """Run a command and return its exit status. Raises nothing but what ends the process from outside."""
    for stream in (sys.stdout, sys.stderr):
        # Paths may hold bytes that are no text, and a terminal may know few characters: show them, never stop on them.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = cli.main(args=list(args), prog_name=PROGRAM, standalone_mode=False)
        return status if isinstance(status, int) else 0
    except FalsifyError as error:
        complain(str(error))
        return error.exit_code
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx is not None else PROGRAM
        complain(f"{error.format_message().rstrip()}\nTry '{where} --help'.")
        return EXIT_USAGE
    except click.ClickException as error:
        complain(error.format_message())
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        complain("interrupted")
        return EXIT_INTERRUPTED
    except Exception as error:
        if os.environ.get(TRACEBACK) == "1":
            traceback.print_exc()
        text = " ".join(f"{type(error).__name__}: {error}".split())
        complain(
            f"this is a fault of {PROGRAM} {__version__} and not of your input: {text} "
            f"Please report it, with what {TRACEBACK}=1 prints."
        )
        return EXIT_FAULT


def main() -> None:
    """Entry point of the program."""
    sys.exit(run(sys.argv[1:]))
