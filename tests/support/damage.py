"""Damaged files that were not refused cleanly, kept to be looked at."""

import os
import shutil


def keep_if_asked(path):
    """Copy a file to where the environment variable COREKERNELS_FUZZ_KEEP says, if it does."""
    if keep := os.environ.get("COREKERNELS_FUZZ_KEEP"):
        shutil.copyfile(path, keep)
