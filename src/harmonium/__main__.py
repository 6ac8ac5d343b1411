"""The command `harmonium`, and `python -m harmonium`."""

import sys

from harmonium.system import end_now, exits_at_interrupt


def main() -> None:
    """Run the command line of this process."""
    with exits_at_interrupt():
        from harmonium.cli import execute  # noqa: PLC0415  # takes most of a second
        from harmonium.cli.study import INTERRUPTED  # noqa: PLC0415
    code = execute(sys.argv[1:])
    if code == INTERRUPTED:
        end_now(code)
    _drop_unreadable_messages()
    sys.exit(code)


def _drop_unreadable_messages() -> None:
    """Close standard error if nothing can be written to it: Python would change the exit code."""
    try:
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):
        sys.stderr = None


if __name__ == "__main__":
    main()
