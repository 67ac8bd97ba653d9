"""One tree of errors. Each says what is wrong, where, what is legal and how to mend it.

Every class is also the built-in kind that callers would expect to catch, and carries the exit status of the program.
"""

from __future__ import annotations


class FalsifyError(Exception):
    """Base of every error raised on purpose. Anything else that escapes is a fault of ours (exit status 4)."""

    exit_code = 2

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        line: int | None = None,
        legal: str | None = None,
        mend: str | None = None,
    ) -> None:
        self.what, self.where, self.line, self.legal, self.mend = what, where, line, legal, mend
        super().__init__(self.message())

    def message(self) -> str:
        """The whole message on one line: where, what, what is legal, how to mend it."""
        place = self.where or ""
        if self.line is not None:
            place = f"{place}, line {self.line}" if place else f"line {self.line}"
        parts = [f"{place}: {self.what}" if place else self.what]
        if self.legal:
            parts.append(f"Legal: {self.legal}.")
        if self.mend:
            parts.append(self.mend)
        return " ".join(p if p.endswith((".", "?", "!", ":")) or p is parts[-1] else f"{p}." for p in parts)

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default reduction, and errors cross process borders with --jobs.
        return (_rebuild, (type(self), self.what, self.where, self.line, self.legal, self.mend))


def _rebuild(
    cls: type[FalsifyError], what: str, where: str | None, line: int | None, legal: str | None, mend: str | None
) -> FalsifyError:
    return cls(what, where=where, line=line, legal=legal, mend=mend)


class InputError(FalsifyError, ValueError):
    """A file or an object that cannot be read as what it should be, or that contradicts itself."""


class MissingInputError(FalsifyError, FileNotFoundError):
    """A file that is not there or cannot be opened."""


class OptionError(FalsifyError, ValueError):
    """An option or argument whose value is not legal."""


class MeasureError(FalsifyError, ValueError):
    """A measure that is unknown, impossible, or that has no gate."""


class BackendError(FalsifyError, RuntimeError):
    """A backend that cannot compute what it was asked for, or answered with something that is no score."""


class NotInstalledError(FalsifyError, ImportError):
    """A backend, reader or plugin whose package is missing or does not import."""


class PluginError(FalsifyError, RuntimeError):
    """A plugin that broke a rule of the registry (shadowed a built-in, returned the wrong kind of thing)."""
