"""``python -m bayeskit.cli`` is the ``bayeskit`` command."""

from bayeskit.cli.app import main

if __name__ == "__main__":
    main()
