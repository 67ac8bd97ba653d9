"""`python -m falsify_adapters` is the program `falsify-adapters`."""

from falsify_adapters.cli import main

if __name__ == "__main__":
    main()
