"""From `pip install` to the first result, in an empty environment without extras.

    python benchmarks/first_contact.py [WHEEL OR FOLDER]
    python benchmarks/first_contact.py --here

Installs the package into a new virtual environment and times what a newcomer waits for: the
installation, the import beyond that of NumPy, SciPy and scikit-learn, the first result (which
compiles) and the second; `--here` takes the package that is installed, with nothing compiled yet.
Fails unless each step works; prints the times as JSON, also in processor seconds, for machines that
do other things at the same time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

SCRIPT = """
import json, sys, time
import numpy, scipy.sparse, sklearn.base
from sklearn.datasets import load_digits

def clocks():
    return time.perf_counter(), time.process_time()


def since(start):
    return [round(now - then, 3) for now, then in zip(clocks(), start)]


start = clocks()
import corekernels as ck
imported = since(start)
X, y = load_digits(return_X_y=True)


def learn():
    start = clocks()
    model = ck.CoREClassifier(n_hashes=256, random_state=0).fit(X[:1000], y[:1000])
    return model.score(X[1000:], y[1000:]), since(start)


accuracy, first = learn()
assert accuracy > 0.9, accuracy
assert not [name for name in ("typer", "matplotlib", "jinja2") if name in sys.modules]
print(json.dumps({
    "version": ck.__version__,
    "seconds_and_processor_seconds": {
        "import": imported, "first_result": first, "second_result": learn()[1],
    },
    "accuracy": accuracy,
}))
"""


def first_contact(package: str) -> dict[str, object]:
    """Times of each step in a new environment."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        venv.create(environment, with_pip=True)
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        start = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
        installed = time.perf_counter() - start
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        found = first_result(python, folder, clean)
        missing = subprocess.run(
            [python, "-m", "corekernels"], capture_output=True, text=True, cwd=folder, check=False,
            env=clean,
        )  # fmt: skip
    assert missing.returncode == 2, missing
    assert "pip install 'corekernels[cli]'" in missing.stderr, missing.stderr
    return {"install_seconds": round(installed, 1), **found}


def first_result(python: str | Path, folder: str, environment: dict[str, str]) -> dict[str, object]:
    """Times of the import and the first results, with nothing compiled yet."""
    result = subprocess.run(
        [python, "-W", "error", "-c", SCRIPT], check=True, stdout=subprocess.PIPE, text=True,
        cwd=folder, env=environment | {"NUMBA_CACHE_DIR": str(Path(folder) / "compiled")},
    )  # fmt: skip
    found: dict[str, object] = json.loads(result.stdout)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", nargs="?", default=str(Path(__file__).parents[1]))
    parser.add_argument("--here", action="store_true", help="take the package that is installed")
    arguments = parser.parse_args()
    if arguments.here:
        with tempfile.TemporaryDirectory() as folder:
            times = first_result(sys.executable, folder, dict(os.environ))
    else:
        times = first_contact(arguments.package)
    json.dump(times, sys.stdout, indent=1)
    print()
