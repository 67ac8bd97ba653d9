"""`python -m falsify_adapters.irm QRELS RUN MEASURE...`: ir_measures' own command line, which also knows ours."""

from __future__ import annotations

import sys

from falsify_adapters.errors import FalsifyError


def main() -> None:
    """Run it. What goes wrong is told in one line, exit status 2."""
    try:
        from ir_measures.__main__ import main_cli

        import falsify_adapters.irm

        falsify_adapters.irm.register()
        main_cli()
    except FalsifyError as error:
        sys.exit(_complain(error))


def _complain(error: FalsifyError) -> int:
    print(error, file=sys.stderr)
    return error.exit_code


if __name__ == "__main__":
    main()
