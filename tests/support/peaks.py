"""The most memory a script takes, for tests that run it in a process of its own.

`ru_maxrss` does not tell: a new process begins with its parent's.
"""

import os
import subprocess
import sys

import pytest

needs_linux = pytest.mark.skipif(
    not os.path.exists("/proc/self/clear_refs"), reason="reads /proc, as Linux has it"
)

FUNCTIONS = """
def reset():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")

def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024
"""


def output_of(script, folder):
    """What the script prints; it may call `peak()`, in bytes, since the last `reset()`."""
    command = [sys.executable, "-c", FUNCTIONS + script]
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert run.returncode == 0, run.stderr
    return run.stdout
