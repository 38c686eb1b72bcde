"""Importing the package: what is not needed is not loaded, and nothing is compiled."""

import subprocess
import sys

SCRIPT = """
import sys
from numba.core import event
recorder = event.RecordingListener()
with event.install_listener("numba:compile", recorder):
    import corekernels
print(len(recorder.buffer))
print([name for name in (
    "matplotlib", "jinja2", "typer", "sklearn.ensemble", "sklearn.datasets",
) if name in sys.modules])
print("distributed" in dir(corekernels), corekernels.distributed.__name__)
print(corekernels.advise.__module__)
"""


def test_import_is_light_and_the_rest_comes_on_use():
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert ended.stdout.splitlines() == [
        "0", "[]", "True corekernels.distributed", "corekernels.advice.verdict",
    ]  # fmt: skip
