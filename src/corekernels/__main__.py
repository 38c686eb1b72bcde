"""The command `corekernels`, also as `python -m corekernels`."""

import sys


def main() -> None:
    """Run the command line, or say which extra it lacks."""
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
