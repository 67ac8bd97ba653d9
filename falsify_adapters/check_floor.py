"""The noise floor of a benchmark, and whether measured noise and a score stand as they should above it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from falsify_adapters import __version__, judging
from falsify_adapters.check import check_options, known_to, new_registry
from falsify_adapters.errors import MeasureError, OptionError
from falsify_adapters.floor_rows import Benches, Limits, row
from falsify_adapters.intake import Intake, Progress, digests, take_in, units_of
from falsify_adapters.judging import refuse_top1
from falsify_adapters.measures import KERNEL_FAMILIES, Measure, MeasureLike, parse, parse_many
from falsify_adapters.pool import PoolSpec
from falsify_adapters.report.floor_data import FloorReport

if TYPE_CHECKING:
    from falsify_adapters.ranking import Duplicates, Ties
    from falsify_adapters.registry import Registry
    from falsify_adapters.units import Units

Known = Callable[[str], bool]
Given = float | Mapping[str, float] | Sequence[str] | None


def floor(
    qrels: Any,
    measures: Iterable[MeasureLike] | MeasureLike | None = None,
    *,
    pool: PoolSpec = "observed",
    depth: int | None = None,
    max_docs: int | None = None,
    noise: Sequence[Any] = (),
    measured: Given = None,
    measured_seeds: int = 1,
    run: Any = None,
    score: Given = None,
    candidates: Mapping[str, int] | None = None,
    min_signal: float = 2.0,
    min_headroom: float = 0.5,
    check_alpha: float = 0.01,
    ties: str = "trec",
    queries: str = "judged",
    queries_file: str | None = None,
    rel: int = 1,
    duplicates: str = "error",
    drop_self: bool = False,
    unit_sep: str | None = None,
    unit_regex: str | None = None,
    unit_map: str | None = None,
    unit: str | None = None,
    units: Units | None = None,
    chunks: str | None = None,
    input_format: str | None = None,
    simulate: int | None = None,
    backend: str = "ir_measures",
    seed: int = 0,
    progress: Progress | None = None,
    registry: Registry | None = None,
) -> FloorReport:
    """What random ranking scores on a benchmark, exactly; and the checks of SPEC 6.

    noise: runs of random vectors, pooled for Check 1; measured: their mean score instead, typed (a number for one
    measure, {measure: value}, or "MEASURE=VALUE" texts), the mean of `measured_seeds` runs. run, or score: what is
    held against the noise in Check 2; without either the ceiling stands in where noise was given. candidates: pool
    sizes by unit, to be told apart. measures: those that `measured` and `score` name where None, else nDCG@10. Without
    runs the whole pool is ranked, unless `depth` says otherwise. simulate: so many random runs through the mapping,
    the ranking and `backend` are held against the floor, to check the harness itself. Raises FalsifyError.
    """
    check_options(
        ties=ties, queries=queries, duplicates=duplicates, check_alpha=check_alpha, depth=depth, max_docs=max_docs,
        seed=seed, measured_seeds=measured_seeds, simulate=simulate,
    )  # fmt: skip
    if len(_listed(noise)) and measured is not None:
        raise OptionError("noise is given by runs and by numbers", where="--noise, --measured", legal="one of them")
    if run is not None and score is not None:
        raise OptionError("the score is given by a run and by a number", where="--run, --score", legal="one")
    registry = registry or new_registry()
    known = known_to(registry)
    wanted = _wanted(measures, measured, score, rel, known)
    sizes = _sizes(candidates)
    typed, held = (_values(v, wanted, rel, o, known) for v, o in ((measured, "--measured"), (score, "--score")))
    plans = [None if m.has_kernel and simulate is None else judging.plan(registry, backend, m, ()) for m in wanted]
    if backend != "ir_measures" and not any(plans):
        raise OptionError(
            "the floors of these measures have formulas, and no backend is asked", where="--backend",
            legal="with --simulate, or for a measure without a formula",
        )  # fmt: skip
    runs = [*_listed(noise), *([] if run is None else [run])]
    if pool == "run" and not runs:
        raise OptionError(
            "each query's own list is to be its pool, and there is no run", where="--pool run",
            legal="a number, observed, candidates:FILE, ir_datasets:ID or a file of document ids",
            mend="Or give noise runs (--noise) or the run of a system (--run).",
        )  # fmt: skip
    if queries == "both" and len(runs) > 1:
        raise OptionError("several runs have several intersections with the qrels", where="--queries", legal="judged")
    mapping = units or units_of(registry, unit, sep=unit_sep, regex=unit_regex, map=unit_map)
    how = Intake(
        pool, depth, max_docs, cast("Ties", ties), queries, queries_file, cast("Duplicates", duplicates), drop_self,
        input_format, mapping, chunks,
    )  # fmt: skip
    say = progress or (lambda *_: None)
    taken = take_in(qrels, runs, how, registry, say, runless=not runs)
    benches = Benches.of(
        taken, len(runs) - (run is not None), with_run=run is not None, depth=depth, max_docs=max_docs, seed=seed
    )
    bench = benches.noise
    checked: list[dict[str, Any] | None] = [None] * len(wanted)
    if simulate is not None:
        from falsify_adapters import harness
        from falsify_adapters.harness_ids import urn_of

        for m in wanted:
            if not m.has_kernel:
                raise MeasureError(f"{m} has no formula that --simulate could check", legal=", ".join(KERNEL_FAMILIES))
        urn = urn_of(taken, pool, chunks, mapping, registry, drop_self=drop_self)
        trial = harness.simulate(
            taken.entrants[0].coded,
            urn,
            bench,
            runs=simulate,
            depth=depth,
            max_docs=max_docs,
            drop_self=drop_self,
            say=say,
        )
        checked = [harness.harness(p.measure, p.backend, p.traits, trial, check_alpha) for p in plans if p is not None]
    if bench.chunks is not None and not sizes:
        sizes = {"documents": bench.chunks.chunks.n_docs, "chunks": bench.chunks.chunks.n_chunks}
    limits = Limits(check_alpha, min_signal, min_headroom, simulate is not None)
    rows = [
        row(
            m,
            None if m.has_kernel else plan,
            taken,
            how,
            benches,
            typed.get(m),
            held.get(m),
            measured_seeds,
            sizes,
            limits,
        )
        | {"harness": found}
        for m, plan, found in zip(wanted, plans, checked, strict=True)
    ]
    judged = taken.qrels
    return FloorReport(
        {
            "schema": "falsify-adapters.floor/1",
            "version": __version__,
            "settings": {
                "pool": int(pool) if isinstance(pool, Integral) else str(pool), "depth": depth, "max_docs": max_docs,
                "chunks": chunks, "unit": "documents" if mapping is None else f"documents by {mapping.name}",
                "check_alpha": check_alpha, "min_signal": min_signal, "min_headroom": min_headroom, "rel": rel,
                "ties": ties, "queries": queries, "duplicates": duplicates, "drop_self": drop_self, "seed": seed,
                "simulate": simulate, "backend": None if simulate is None else backend,
            },
            "qrels": {
                "path": judged.source.path, "sha256": judged.source.sha256,
                "queries": taken.coded.judgments.n_queries, "judgments": len(taken.coded.judgments.doc),
                "gold": int((taken.coded.judgments.grade >= 1).sum()),
            },
            "files": [
                *(
                    {"role": "noise" if n < benches.n_noise else "run", "path": fact.path, "sha256": fact.sha256}
                    for n, fact in enumerate(taken.facts if runs else ())
                ),
                *digests(how),
            ],
            "results": rows,
        }
    )  # fmt: skip


def _sizes(candidates: Any) -> dict[str, int]:
    if candidates is None:
        return {}
    fine = isinstance(candidates, Mapping) and all(
        isinstance(n, Integral) and not isinstance(n, bool) for n in candidates.values()
    )
    if not fine:
        raise OptionError(
            f"{candidates!r} are no pool sizes by unit",
            where="--candidates",
            legal='as in {"chunks": 1052, "files": 218}',
        )
    return {str(unit): int(n) for unit, n in candidates.items()}


def _listed(noise: Any) -> list[Any]:
    return list(noise) if isinstance(noise, (list, tuple)) else [noise]


def _wanted(
    measures: Iterable[MeasureLike] | MeasureLike | None, measured: Given, score: Given, rel: int, known: Known
) -> tuple[Measure, ...]:
    if measures is not None:
        wanted = parse_many(measures, rel, known=known)
    else:
        named = [name for given in (measured, score) for name in _named(given)]
        wanted = parse_many(named or "nDCG@10", rel, known=known)
    for m in wanted:
        refuse_top1(m)
    return wanted


def _named(given: Given) -> list[str]:
    if isinstance(given, Mapping):
        return list(given)
    if given is None or isinstance(given, (int, float)):
        return []
    return [text.rpartition("=")[0] for text in ([given] if isinstance(given, str) else given)]


def _values(
    given: Given, wanted: Sequence[Measure], rel: int, option: str, known: Known
) -> dict[Measure, tuple[float, float]]:
    """{measure: (value, half a unit of its last typed digit)}."""
    if given is None:
        return {}
    if isinstance(given, (int, float)):
        if len(wanted) != 1:
            raise OptionError(f"{given!r} is one value for {len(wanted)} measures", where=option, legal="MEASURE=VALUE")
        return {wanted[0]: (float(given), 0.0)}
    given = [given] if isinstance(given, str) else given
    texts = [f"{name}={value!r}" for name, value in given.items()] if isinstance(given, Mapping) else list(given)
    out = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            equals = ""
        if not equals or not np.isfinite(number):
            raise OptionError(f"{text!r} is no measure with its value", where=option, legal="as in RR@10=0.0225")
        measure = parse(name, rel=rel, known=known)
        if measure not in wanted:
            raise OptionError(
                f"{measure} is not among the measures asked for", where=option, legal=", ".join(map(str, wanted))
            )
        mantissa, _, power = value.strip().lower().partition("e")
        digits = len(mantissa.partition(".")[2]) - int(power or 0)
        typed = not isinstance(given, Mapping) and digits > 0  # 0 and 1 without decimals mean just that
        if measure in out:
            raise OptionError(f"{measure} is given twice", where=option, legal="each measure once, in any spelling")
        out[measure] = (number, 0.5 * 10.0**-digits if typed else 0.0)
    return out
