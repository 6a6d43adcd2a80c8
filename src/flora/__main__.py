"""The program ``flora``, which is also ``python -m flora``: it can be stopped while the command line is imported."""

import sys


def main() -> int:
    """Run the command line and return the exit code; whoever stops it before it begins sees no traceback."""
    try:
        from flora.cli.main import main as run

        return run()
    except KeyboardInterrupt:
        sys.stderr.write("flora: stopped\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
