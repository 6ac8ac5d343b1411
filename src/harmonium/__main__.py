"""The command `harmonium`, and `python -m harmonium`."""

import sys

from harmonium.interrupts import exits_at_interrupt


def main() -> None:
    """Run the command line of this process."""
    with exits_at_interrupt():
        from harmonium.cli import execute  # noqa: PLC0415  # takes most of a second
    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()
