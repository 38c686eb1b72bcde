"""The command line, in the test's own process or in a shell."""

import json
import shlex
import subprocess
import sys

from typer.testing import CliRunner

from corekernels.cli import app


def run(line, **kwargs):
    """The result of a command line without its `corekernels`."""
    return CliRunner().invoke(app, shlex.split(line), **kwargs)


def ok(line, **kwargs):
    """The same, which must succeed."""
    result = run(line, **kwargs)
    assert result.exit_code == 0, result.output + repr(result.exception)
    return result


def as_json(line):
    """The one JSON object that a command prints."""
    lines = ok(f"{line} --json").stdout.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


def shell(line, **kwargs):
    """The finished process of a line of bash that calls `corekernels`."""
    command = line.replace("corekernels", f"{shlex.quote(sys.executable)} -m corekernels")
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False,
        timeout=120, **kwargs,
    )  # fmt: skip
