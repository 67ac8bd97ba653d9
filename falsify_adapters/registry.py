"""Everything that can be had under a name, and from which package: find, load, resolve.

Finding reads the metadata of installed packages and imports none of them. Loading imports the plugins, one at a
time, and calls their hooks; what goes wrong is kept with the plugin's name and stops no other. Resolving imports the
one thing asked for. The built-in things go through the same hooks, first.
"""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, overload

from falsify_adapters import __version__
from falsify_adapters.errors import (
    BackendError,
    FalsifyError,
    MeasureError,
    NotInstalledError,
    OptionError,
    PluginError,
)
from falsify_adapters.measure_names import fold
from falsify_adapters.offers import KINDS, Kind, MeasureSpec, Offer, checked, not_as_wanted

if TYPE_CHECKING:
    import click
    import pluggy

    from falsify_adapters.measures import Measure
    from falsify_adapters.model import Backend
    from falsify_adapters.offers import ExtraNull, Format, PoolSource, Reader, UnitMapping

GROUP = "falsify_adapters"
DISABLE = "FALSIFY_ADAPTERS_DISABLE_PLUGINS"

_SINGULAR: Mapping[Kind, str] = {
    "backends": "backend",
    "measures": "measure",
    "nulls": "null",
    "readers": "reader",
    "pools": "pool source",
    "units": "unit mapping",
    "formats": "output format",
    "commands": "command",
}


@dataclass(frozen=True, slots=True, order=True)
class Plugin:
    """Where offers come from: the package, its version, the entry point and what that points to."""

    package: str
    version: str
    name: str
    value: str

    def __str__(self) -> str:
        return f"{self.package} {self.version} (plugin {self.name!r})"


@dataclass(frozen=True, slots=True)
class LoadFailure:
    """What a plugin could not do: `step` is "import", "hooks" or the name of a hook."""

    plugin: Plugin
    step: str
    reason: str

    def __str__(self) -> str:
        return f"{self.plugin}, {self.step}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Offered:
    """An offer and who made it."""

    plugin: Plugin
    offer: Offer


BUILTIN = Plugin("falsify-adapters", __version__, "builtins", "falsify_adapters.builtins")


def find(entry_points: Iterable[importlib.metadata.EntryPoint]) -> tuple[tuple[Plugin, Callable[[], object]], ...]:
    """The plugins behind these entry points, sorted by package and name, each with the function that imports it."""
    found = []
    for point in entry_points:
        package = point.dist.name if point.dist else "unknown package"
        version = point.dist.version if point.dist else "unknown version"
        found.append((Plugin(package, version, point.name, point.value), point.load))
    return tuple(sorted(found, key=lambda pair: (fold(pair[0].package), pair[0])))


class Registry:
    """The things that can be had, by kind and name.

    outside: whether plugins of other packages are loaded; None reads the environment variable
    FALSIFY_ADAPTERS_DISABLE_PLUGINS (unset, empty or 0: they are).
    entry_points: instead of those of the installed packages.
    """

    def __init__(
        self,
        *,
        outside: bool | None = None,
        entry_points: Iterable[importlib.metadata.EntryPoint] | None = None,
    ) -> None:
        self.outside = os.environ.get(DISABLE, "") in ("", "0") if outside is None else outside
        self._found = find(importlib.metadata.entry_points(group=GROUP) if entry_points is None else entry_points)
        self._manager: pluggy.PluginManager | None = None
        self._plugins: dict[Plugin, object] = {}
        self._failures: dict[tuple[Plugin, str], LoadFailure] = {}
        self._offers: dict[Kind, dict[str, tuple[Offered, ...]]] = {}

    def register(self, plugin: object, *, package: str, version: str = "0", name: str = "registered") -> None:
        """Add a plugin that is already in memory, as one of `package`. Raises PluginError where it is none."""
        entry = Plugin(package, version, name, getattr(plugin, "__name__", type(plugin).__name__))
        failure = self._add(self._loaded(), entry, lambda: plugin)
        if failure is not None:
            raise PluginError(str(failure))
        self._offers.clear()

    def _loaded(self) -> pluggy.PluginManager:
        """The manager with every plugin that imports, built at the first call."""
        if self._manager is None:
            import pluggy

            from falsify_adapters import hookspecs

            self._manager = pluggy.PluginManager("falsify_adapters")
            self._manager.add_hookspecs(hookspecs)
            for plugin, load in ((BUILTIN, _builtins), *(self._found if self.outside else ())):
                failure = self._add(self._manager, plugin, load)
                if failure is not None:
                    self._failures[plugin, failure.step] = failure
        return self._manager

    def _add(self, manager: pluggy.PluginManager, plugin: Plugin, load: Callable[[], object]) -> LoadFailure | None:
        import pluggy

        # A stranger's module may raise anything, and may even call sys.exit. Nothing of it is lost: it is kept
        # with the stranger's name for `plugins`, and raised when a name is asked for that is not there.
        try:
            thing = load()
        except (Exception, SystemExit) as error:
            return LoadFailure(plugin, "import", _reason(error))
        try:
            manager.register(thing, str(plugin))
            manager.check_pending()
        except (pluggy.PluginValidationError, ValueError) as error:
            if manager.has_plugin(str(plugin)):
                manager.unregister(name=str(plugin))
            return LoadFailure(plugin, "hooks", _reason(error))
        if not manager.get_hookcallers(thing):
            manager.unregister(thing)
            return LoadFailure(plugin, "hooks", f"{plugin.value} has no function marked with hookspecs.hookimpl")
        self._plugins[plugin] = thing
        return None

    def _of_kind(self, kind: Kind) -> dict[str, tuple[Offered, ...]]:
        """Offers by the key of their name; the first of several is the built-in one, or else by package."""
        if kind not in self._offers:
            manager = self._loaded()
            by_key: dict[str, tuple[Offered, ...]] = {}
            for plugin in sorted(self._plugins, key=_order):
                thing = self._plugins[plugin]
                # Each plugin is called by itself, so that an error is its own and loses no one else's offers.
                caller = manager.subset_hook_caller(kind, [x for x in self._plugins.values() if x is not thing])
                if not any(impl.plugin is thing for impl in caller.get_hookimpls()):
                    continue
                try:
                    offers = checked(kind, caller(), builtin=plugin == BUILTIN)
                except (Exception, SystemExit) as error:
                    self._failures[plugin, kind] = LoadFailure(plugin, kind, _reason(error))
                    continue
                for offer in offers:
                    key = fold(offer.name)
                    by_key[key] = (*by_key.get(key, ()), Offered(plugin, offer))
            self._offers[kind] = by_key
        return self._offers[kind]

    def offers(self, kind: Kind) -> tuple[Offered, ...]:
        """Every offer of this kind by name; of a name that two packages offer, the first one's."""
        return tuple(sorted((same[0] for same in self._of_kind(kind).values()), key=lambda o: o.offer.name))

    def names(self, kind: Kind) -> tuple[str, ...]:
        """Every name of this kind, ascending."""
        return tuple(offered.offer.name for offered in self.offers(kind))

    @overload
    def resolve(self, kind: Literal["backends"], name: str) -> Backend: ...
    @overload
    def resolve(self, kind: Literal["measures"], name: str) -> MeasureSpec: ...
    @overload
    def resolve(self, kind: Literal["nulls"], name: str) -> ExtraNull: ...
    @overload
    def resolve(self, kind: Literal["commands"], name: str) -> click.Command: ...
    @overload
    def resolve(self, kind: Literal["formats"], name: str) -> Format: ...
    @overload
    def resolve(self, kind: Literal["readers"], name: str) -> Reader: ...
    @overload
    def resolve(self, kind: Literal["pools"], name: str) -> PoolSource: ...
    @overload
    def resolve(self, kind: Literal["units"], name: str) -> UnitMapping: ...

    def resolve(self, kind: Kind, name: str) -> object:
        """The thing of this kind and name, imported now; upper and lower case, - and _ are the same in names.

        Raises OptionError (MeasureError for a measure) where no one offers the name, PluginError where two packages
        do or where the thing is of the wrong kind, NotInstalledError where its plugin or what it needs does not load.
        """
        same = self._of_kind(kind).get(fold(name))
        if same is None:
            raise self._unknown(kind, name)
        if len(same) > 1:
            raise PluginError(
                f"the {_SINGULAR[kind]} {name!r} is offered by {' and by '.join(str(o.plugin) for o in same)}",
                legal="one package for each name",
                mend=f"Uninstall one of them, or set {DISABLE}=1 to use the built-in things alone.",
            )
        return _load(kind, same[0])

    def _unknown(self, kind: Kind, name: str) -> FalsifyError:
        import difflib

        word = _SINGULAR[kind]
        failures = [f for f in self.failures() if f.step in ("import", "hooks", kind)]
        own = [f for f in failures if fold(name) in (fold(f.plugin.name), fold(f.plugin.package))]
        close = difflib.get_close_matches(fold(name), self._of_kind(kind), 1)
        if own or (failures and not close):
            return NotInstalledError(
                f"there is no {word} {name!r}, and a plugin that may offer it does not load: "
                + "; ".join(str(f) for f in own or failures),
                mend="Mend or uninstall that package; `falsify-adapters plugins` shows what loads and what does not.",
            )
        mend = f"Did you mean {self._of_kind(kind)[close[0]][0].offer.name!r}?" if close else None
        if not self.outside and self._found:
            mend = f"{mend or ''} Plugins of other packages are disabled ({DISABLE}).".strip()
        always = "A, B, C and D are always there; beside them " if kind == "nulls" else ""
        known = always + (", ".join(self.names(kind)) or f"none, until a plugin that offers a {word} is installed")
        kind_of_error = MeasureError if kind == "measures" else OptionError
        return kind_of_error(f"there is no {word} {name!r}", legal=known, mend=mend)

    def backend_for(self, name: str, measure: Measure) -> Backend:
        """The backend `name` where it computes the measure; else who offers the measure: its own function or backend.

        Raises BackendError, with the reason and the cure, where none of them does.
        """
        backend = self.resolve("backends", name)
        why = backend.why_not(measure)
        if why is None:
            return backend
        for offered in self._of_kind("measures").get(fold(measure.family), ()):
            if offered.plugin == BUILTIN:
                continue
            spec = self.resolve("measures", measure.family)
            if spec.score is not None:
                from falsify_adapters.adapters.spec_backend import SpecBackend

                own = SpecBackend(spec, f"{offered.plugin.package} {offered.plugin.version}")
                why = own.why_not(measure)
                if why is None:
                    return own
            for other in self.offers("backends"):
                if other.plugin == offered.plugin:
                    candidate = self.resolve("backends", other.offer.name)
                    if candidate.why_not(measure) is None:
                        return candidate
        raise BackendError(why)

    def measures(self) -> dict[str, tuple[MeasureSpec, Plugin]]:
        """Every measure family that loads, by name, with who offers it; the others are in `failures`."""
        found: dict[str, tuple[MeasureSpec, Plugin]] = {}
        for offered in self.offers("measures"):
            name, plugin = offered.offer.name, offered.plugin
            try:
                found[name] = (self.resolve("measures", name), plugin)
            except FalsifyError as error:
                self._failures[plugin, f"measures: {name}"] = LoadFailure(plugin, f"measures: {name}", _reason(error))
        return found

    def failures(self) -> tuple[LoadFailure, ...]:
        """What went wrong so far, by plugin and step."""
        self._loaded()
        return tuple(sorted(self._failures.values(), key=lambda f: (_order(f.plugin), f.step)))

    def overview(self) -> dict[str, object]:
        """What `falsify-adapters plugins` prints, as plain data: every plugin found, what it offers, what failed.

        Every hook is called, nothing that is offered is imported.
        """
        by_kind = {kind: self._of_kind(kind) for kind in KINDS}
        failures = self.failures()
        everyone = {BUILTIN, *self._plugins, *(plugin for plugin, _ in self._found)}
        plugins: list[dict[str, object]] = []
        for plugin in sorted(everyone, key=_order):
            offers: dict[str, list[dict[str, str]]] = {}
            for kind, by_key in by_kind.items():
                own = [o.offer for same in by_key.values() for o in same if o.plugin == plugin]
                if own:
                    own.sort(key=lambda offer: offer.name)
                    offers[kind] = [{"name": offer.name, "summary": offer.summary} for offer in own]
            plugins.append(
                {
                    "package": plugin.package,
                    "version": plugin.version,
                    "name": plugin.name,
                    "entry_point": plugin.value,
                    "status": "loaded" if plugin in self._plugins else "failed" if self.outside else "disabled",
                    "offers": offers,
                    "failures": [{"step": f.step, "reason": f.reason} for f in failures if f.plugin == plugin],
                }
            )
        conflicts = [
            {"kind": kind, "name": same[0].offer.name, "packages": [o.plugin.package for o in same]}
            for kind, by_key in by_kind.items()
            for _, same in sorted(by_key.items())
            if len(same) > 1
        ]
        return {"plugins": plugins, "conflicts": conflicts, "outside": self.outside}


def _builtins() -> object:
    from falsify_adapters import builtins

    return builtins


def _order(plugin: Plugin) -> tuple[bool, str, Plugin]:
    return (plugin != BUILTIN, fold(plugin.package), plugin)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, FalsifyError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _load(kind: Kind, offered: Offered) -> object:
    import pkgutil

    plugin, offer = offered.plugin, offered.offer
    what = f"the {_SINGULAR[kind]} {offer.name!r} of {plugin}"
    # As with whole plugins: whatever a stranger's code raises is handed on under the stranger's name.
    try:
        thing = pkgutil.resolve_name(offer.load) if isinstance(offer.load, str) else offer.load()
        thing = thing() if isinstance(thing, type) else thing
    except FalsifyError:
        raise
    except (Exception, SystemExit) as error:
        raise NotInstalledError(
            f"{what} does not load: {_reason(error)}",
            mend="Install what is missing, or mend or uninstall that package.",
        ) from error
    wanted = not_as_wanted(kind, offer.name, thing)
    if wanted:
        raise PluginError(f"{what} is {type(thing).__name__}", legal=wanted)
    return thing
