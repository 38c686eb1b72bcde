"""Data sets and learners of the paper's experiments, which stand beside the package."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from reproduction import datasets
from reproduction.experiments.baselines import Landmarks
from reproduction.experiments.experiment import tuning_rows

__all__ = ["Landmarks", "datasets", "tuning_rows"]
