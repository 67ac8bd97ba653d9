"""Print docs/commands.md, made from the program: `make commands` writes it, and a test says when it is stale."""

from __future__ import annotations

import click

from falsify_adapters.cli import cli
from falsify_adapters.cli_common import PROGRAM
from falsify_adapters.registry import Registry

WIDTH = 80

HEAD = f"""\
# The command line

Made from the program by `make commands`; do not edit. `python -m falsify_adapters` is the same program as
`{PROGRAM}`. What the options mean is on the pages of their subjects: [the gate](gate.md), [noise floors](floors.md),
[reading](reading.md).
"""


def page() -> str:
    """The help of every built-in command, as Markdown."""
    top = click.Context(cli, info_name=PROGRAM, terminal_width=WIDTH, max_content_width=WIDTH)
    top.obj = Registry(outside=False)
    parts = [HEAD, _block(top)]
    for name in cli.list_commands(top):
        command = cli.get_command(top, name)
        if command is not None:
            parts += _command(command, top, name, 2)
    return "\n".join(parts)


def _command(command: click.Command, above: click.Context, name: str, level: int) -> list[str]:
    context = click.Context(
        command, above, name, terminal_width=WIDTH, max_content_width=WIDTH, **command.context_settings
    )
    parts = [f"{'#' * level} {context.command_path.removeprefix(PROGRAM).strip()}\n", _block(context)]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            child = command.get_command(context, below)
            if child is not None:
                parts += _command(child, context, below, level + 1)
    return parts


def _block(context: click.Context) -> str:
    return f"```\n{context.get_help().rstrip()}\n```\n"


if __name__ == "__main__":
    print(page(), end="")
