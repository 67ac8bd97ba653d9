"""`falsify-adapters demo`: the clean benchmark and the broken one side by side."""

from __future__ import annotations

import click

from falsify_adapters.cli_common import show_lines


@click.command()
def demo() -> None:
    """Show a sound and a broken benchmark side by side.

    Made data, about a second, no files, no downloads. Exit status 0.
    """
    from falsify_adapters.demo import run_demo

    show_lines(run_demo())
