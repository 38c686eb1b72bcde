"""From `pip install` to the first result, in an empty environment without extras.

    python benchmarks/first_contact.py [WHEEL OR FOLDER]

Installs the package into a new virtual environment and times what a newcomer waits for: the
installation, the import beyond that of NumPy, SciPy and scikit-learn, the first result (which
compiles) and the second. Fails unless each step works; prints the times as JSON.
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

start = time.perf_counter()
import corekernels as ck
imported = time.perf_counter()
X, y = load_digits(return_X_y=True)


def learn():
    began = time.perf_counter()
    model = ck.CoREClassifier(n_hashes=256, random_state=0).fit(X[:1000], y[:1000])
    return model.score(X[1000:], y[1000:]), time.perf_counter() - began


accuracy, first = learn()
assert accuracy > 0.9, accuracy
assert not [name for name in ("typer", "matplotlib", "pyarrow", "jinja2") if name in sys.modules]
print(json.dumps({
    "version": ck.__version__,
    "import_seconds": imported - start,
    "first_result_seconds": first,
    "second_result_seconds": learn()[1],
    "accuracy": accuracy,
}))
"""


def first_contact(package: str) -> dict[str, object]:
    """Times of each step, in seconds."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder) / "venv"
        venv.create(environment, with_pip=True)
        python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
        start = time.perf_counter()
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True)
        installed = time.perf_counter() - start
        result = subprocess.run(
            [python, "-W", "error", "-c", SCRIPT], check=True, capture_output=True, text=True,
            cwd=folder, env={name: os.environ[name] for name in os.environ if name != "PYTHONPATH"},
        )  # fmt: skip
        missing = subprocess.run(
            [python, "-m", "corekernels"], capture_output=True, text=True, cwd=folder, check=False
        )
    assert missing.returncode == 2, missing
    assert "pip install 'corekernels[cli]'" in missing.stderr, missing.stderr
    return {"install_seconds": installed, **json.loads(result.stdout)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("package", nargs="?", default=str(Path(__file__).parents[1]))
    json.dump(first_contact(parser.parse_args().package), sys.stdout, indent=1)
    print()
