"""The command `corekernels`, also as `python -m corekernels`."""

import gc
import sys


def main() -> None:
    """Run the command line, or say which extra it lacks, or that it was interrupted."""
    try:
        _run()
    except KeyboardInterrupt:
        print("error: interrupted; nothing is kept.", file=sys.stderr)
        sys.exit(130)


def _run() -> None:
    # a command is a process of its own: imports and compiling make objects by the million, which
    # stay, and the collector would look through them again and again
    gc.set_threshold(100_000, 50, 100)
    try:
        from .cli import app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("typer", "rich"):
            raise
        print(
            f"error: the command line needs {error.name}; install it with: "
            "pip install 'corekernels[cli]'",
            file=sys.stderr,
        )
        sys.exit(2)
    app(prog_name="corekernels")


if __name__ == "__main__":
    main()
