"""`falsify-adapters noise`: random runs, to see what one's own scorer makes of them."""

from __future__ import annotations

import click

from falsify_adapters.cli_common import show_lines
from falsify_adapters.cli_options import AtLeast


@click.command(context_settings={"show_default": True})
@click.argument("qrels")
@click.option("--pool", metavar="FILE", help="Document ids of the collection, one a line or JSON Lines.")
@click.option("--chunks", metavar="FILE", help="Chunk ids of the collection instead: the runs then rank chunks.")
@click.option("--depth", metavar="K", type=AtLeast(1), default=1000, help="Ids a query; all, where the file has fewer.")
@click.option("--seeds", metavar="S", type=AtLeast(1), default=5, help="How many runs, one a seed.")
@click.option("--seed", metavar="N", type=AtLeast(0), default=0, help="Seed of the first run; the next has the next.")
@click.option("--queries-file", metavar="FILE", help="Only the queries in FILE, one id a line.")
@click.option("-o", "--output", metavar="DIR", default=".", help="Folder for the runs.")
@click.option("--quiet", is_flag=True, help="Do not list what was written.")
def noise(
    qrels: str,
    pool: str | None,
    chunks: str | None,
    depth: int,
    seeds: int,
    seed: int,
    queries_file: str | None,
    output: str,
    quiet: bool,
) -> None:
    """Write random runs for the queries of QRELS.

    DIR/noise-seed0.run and so on, in TREC format, the same for the same seed. Push them through your own scorer:
    what it gives should be the floor, and `falsify-adapters floor --measured` says whether it is.
    """
    from falsify_adapters.noise_runs import write_noise

    written = write_noise(
        qrels, pool=pool, chunks=chunks, depth=depth, seeds=seeds, seed=seed, output=output, queries_file=queries_file
    )
    if not quiet:
        show_lines([str(path) for path in written])
