"""`falsify-adapters measures` and `falsify-adapters plugins`: what can be computed, by whom, and what did not load."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from falsify_adapters.cli_common import emit, show_lines
from falsify_adapters.cli_options import format_option
from falsify_adapters.errors import FalsifyError
from falsify_adapters.report.plain import to_json

if TYPE_CHECKING:
    from falsify_adapters.model import Backend
    from falsify_adapters.offers import MeasureSpec
    from falsify_adapters.registry import Plugin, Registry

PROBE = "nDCG@10"  # the measure that tells whether a backend is there at all


@click.command()
@click.argument("measure", required=False)
@format_option
@click.pass_obj
def measures(registry: Registry, measure: str | None, chosen: str) -> None:
    """List measures and the backends that compute them.

    With MEASURE, in any spelling: what it is, and for each backend whether it computes it, or why not.
    """
    backends = _backends(registry)
    if measure is not None:
        listing = {"schema": "falsify-adapters.measure/1", **_one(registry, backends, measure)}
    else:
        listing = {
            "schema": "falsify-adapters.measures/1",
            "backends": {name: _why_not(found, PROBE) for name, found in backends.items()},
            "measures": [
                _family(spec, plugin, backends) for _, (spec, plugin) in sorted(registry.measures().items(), key=_place)
            ],
        }
    if chosen == "json":
        emit(to_json(listing))
    elif measure is not None:
        show_lines(_one_lines(listing))
    else:
        show_lines(_measures_lines(listing))


def _place(item: tuple[str, tuple[MeasureSpec, Plugin]]) -> tuple[int, str]:
    """Families with kernels first, in their usual order; then the others by name."""
    from falsify_adapters.measures import KERNEL_FAMILIES

    name = item[0]
    return (KERNEL_FAMILIES.index(name) if name in KERNEL_FAMILIES else len(KERNEL_FAMILIES), name)


def _backends(registry: Registry) -> dict[str, Backend | str]:
    """Every backend by name, or the reason why it does not load."""
    found: dict[str, Backend | str] = {}
    for name in registry.names("backends"):
        try:
            found[name] = registry.resolve("backends", name)
        except FalsifyError as error:
            found[name] = str(error)
    return found


def _why_not(backend: Backend | str, spelling: str) -> str | None:
    from falsify_adapters.measures import parse

    return backend if isinstance(backend, str) else backend.why_not(parse(spelling))


def _spellings(spec: MeasureSpec) -> list[str]:
    """One legal spelling without a cutoff and one with, as far as the family has them."""
    from falsify_adapters.measure_hints import spell
    from falsify_adapters.measure_names import OPTIONAL

    uncut = [spell(spec.family)] if spec.family.cutoff == OPTIONAL else []
    return [*uncut, spell(spec.family, 10)]


def _family(spec: MeasureSpec, plugin: Plugin, backends: Mapping[str, Backend | str]) -> dict[str, Any]:
    from falsify_adapters.measures import parse

    family = spec.family
    spellings = _spellings(spec)
    parsed = [parse(text, known=lambda name: name == family.name) for text in spellings]
    return {
        "name": family.name,
        "title": family.title,
        "meaning": family.meaning,
        "spellings": [str(measure) for measure in parsed],
        "package": plugin.package,
        "backends": {
            name: {
                str(measure): backend if isinstance(backend, str) else backend.why_not(measure) for measure in parsed
            }
            for name, backend in backends.items()
        },
        "own_function": spec.score is not None,
    }


def _one(registry: Registry, backends: Mapping[str, Backend | str], text: str) -> dict[str, Any]:
    from falsify_adapters.measures import parse

    families = registry.measures()
    measure = parse(text, known=lambda name: name in families)
    listing: dict[str, Any] = {"measure": str(measure)}
    if measure.family in families:
        spec, plugin = families[measure.family]
        listing |= {
            "title": spec.family.title,
            "meaning": spec.family.meaning,
            "citation": spec.citation,
            "spelled_also": list(spec.family.aliases),
            "parameters": {name: param.legal for name, param in spec.family.params.items()},
            "package": plugin.package,
        }
    listing["backends"] = {
        name: backend if isinstance(backend, str) else backend.why_not(measure) for name, backend in backends.items()
    }
    return listing


def _measures_lines(listing: Mapping[str, Any]) -> Sequence[Any]:
    from falsify_adapters.report.safe import visible
    from falsify_adapters.report.tables import Column, Row, aligned

    names = list(listing["backends"])
    rows: list[Row] = []
    for entry in listing["measures"]:
        by = [_mark(entry["backends"][name]) for name in names]
        title = entry["title"] + ("" if entry["package"] == "falsify-adapters" else f" ({entry['package']})")
        rows.append([visible(" ".join(entry["spellings"])), *by, visible(title)])
    lines: list[Any] = list(aligned([Column("measure"), *(Column(name) for name in names), Column("what")], rows))
    lines += ["", "yes: computed; cut, uncut: only with, only without a cutoff; -: not computed."]
    missing = {name: why for name, why in listing["backends"].items() if why is not None}
    if missing:
        lines += ["", "Not available:"]
        lines += [f"  {name}: {why}" for name, why in missing.items()]
    return [*lines, "", "`falsify-adapters measures MEASURE` says what one is, and why a backend does not compute it."]


def _mark(reasons: Mapping[str, str | None]) -> str:
    can = [reason is None for reason in reasons.values()]
    if all(can):
        return "yes"
    if not any(can):
        return "-"
    return "cut" if can[-1] else "uncut"


def _one_lines(listing: Mapping[str, Any]) -> list[str]:
    lines = [listing["measure"] + (f": {listing['title']}" if "title" in listing else "")]
    if "meaning" in listing:
        lines.append(f"  {listing['meaning']}")
        lines += [f"  Defined in {listing['citation']}"] if listing["citation"] else []
        lines += [f"  also spelled {', '.join(listing['spelled_also'])}"] if listing["spelled_also"] else []
        lines += [f"  {name}: {legal}" for name, legal in listing["parameters"].items()]
    lines += [f"  {name}: {'computes it' if why is None else why}" for name, why in listing["backends"].items()]
    return lines


@click.command()
@format_option
@click.pass_obj
def plugins(registry: Registry, chosen: str) -> None:
    """List plugins, what each offers, and why one did not load."""
    overview = registry.overview()
    if chosen == "json":
        emit(to_json({"schema": "falsify-adapters.plugins/1", **overview}))
    else:
        show_lines(_plugin_lines(overview))


def _plugin_lines(overview: Mapping[str, Any]) -> list[str]:
    from falsify_adapters.registry import DISABLE

    lines: list[str] = []
    for plugin in overview["plugins"]:
        status = "" if plugin["status"] == "loaded" else f": {plugin['status'].upper()}"
        lines.append(
            f"{plugin['package']} {plugin['version']} (plugin {plugin['name']}, {plugin['entry_point']}){status}"
        )
        for kind, offers in plugin["offers"].items():
            lines.append(f"  {kind}: {', '.join(offer['name'] for offer in offers)}")
        lines += [f"  failed at {failure['step']}: {failure['reason']}" for failure in plugin["failures"]]
    for conflict in overview["conflicts"]:
        lines.append(f"{conflict['kind']} {conflict['name']}: offered by {' and by '.join(conflict['packages'])}")
    if not overview["outside"]:
        lines.append(f"Plugins of other packages are disabled ({DISABLE}).")
    elif len(overview["plugins"]) == 1:
        lines.append("No plugin of another package is installed.")
    return lines
