"""For pipelines of Spark ML: a transformer that hashes, a classifier and its model.

Needs the extra `spark`. Workers must reach the folders named.
"""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.ml import Estimator, Model, Transformer
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasLabelCol, HasPredictionCol
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import functions

from ..._core.arguments import PathLike, require_extra
from ...classifier import CoREClassifier
from ...recipe import DEFAULT_BITS, DEFAULT_HASHES, DEFAULT_KERNEL, Recipe
from ..learning import train
from ..readers import sketch_batch
from ..sources import plan_parts
from .frames import hash_spark_frame, rows_of_table, signature_columns
from .spark import SparkEngine

# fields of a recipe, and what Spark's naming makes of them
_OF_RECIPE = {
    "kernel": "kernel", "n_hashes": "nHashes", "n_bits": "nBits", "weight_bits": "weightBits",
    "gamma": "gamma", "seed": "seed",
}  # fmt: skip
_SQL_TYPES = {"int64": "bigint", "float32": "float"}


def _parameter(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, convert)


class _Hashing(HasFeaturesCol):
    """Parameters of the hash."""

    kernel = _parameter("kernel", "kernel to come close to", TypeConverters.toString)
    nHashes = _parameter("nHashes", "hashes per row", TypeConverters.toInt)
    nBits = _parameter("nBits", "bits kept of each hash", TypeConverters.toInt)
    weightBits = _parameter("weightBits", "bits kept of each weight", TypeConverters.toInt)
    gamma = _parameter("gamma", "of core_rbf", TypeConverters.toFloat)
    seed = _parameter("seed", "seed of the hash", TypeConverters.toInt)

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            kernel=DEFAULT_KERNEL, nHashes=DEFAULT_HASHES, nBits=DEFAULT_BITS,
            weightBits=Recipe.weight_bits, gamma=None, seed=0,
        )  # fmt: skip

    def _recipe(self, n_columns: int) -> Recipe:
        chosen = {name: self.getOrDefault(spark_name) for name, spark_name in _OF_RECIPE.items()}
        return Recipe(n_columns=n_columns, **chosen)

    def _recipe_of(self, frame: Any) -> Recipe:
        """The recipe for the vectors of a frame, the first of which tells how many columns."""
        return self._recipe(frame.select(self.getFeaturesCol()).first()[0].size)


class CoREHashTransformer(Transformer, _Hashing, DefaultParamsReadable, DefaultParamsWritable):
    """Columns of signatures in the place of a column of vectors.

    `files.signatures_of_table` makes `Signatures` of them again.

    Parameters
    ----------
    featuresCol, kernel, nHashes, nBits, weightBits, gamma, seed
        As of `CoRESparkClassifier`.
    """

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        self._set(**parameters)

    def _transform(self, dataset: Any) -> Any:
        recipe = self._recipe_of(dataset)
        own = [
            f"{name} {'binary' if shape else _SQL_TYPES[dtype.name]}"
            for name, (dtype, shape) in recipe.sketch.arrays.items()
        ]
        work = partial(_hashed_batches, recipe, self.getFeaturesCol())
        return dataset.mapInArrow(work, ", ".join([*_kept_fields(dataset, self), *own]))


class CoRESparkClassifier(Estimator, _Hashing, HasLabelCol, HasPredictionCol):
    """Hashes vectors and learns their labels by parts, on the cluster.

    Parameters
    ----------
    folder : str
        Where shards lie while it learns; every worker must reach it.
    featuresCol, labelCol, predictionCol : str
    kernel, nHashes, nBits, weightBits, gamma, seed, loss, C, tol, maxIter
        `kernel`, `n_hashes`, `n_bits`, `weight_bits`, `gamma`, `random_state`, `loss`, `C`, `tol`,
        `max_iter` of `files.train` and `CoREClassifier`.
    """

    loss = _parameter("loss", "squared_hinge or log_loss", TypeConverters.toString)
    C = _parameter("C", "weight of the losses", TypeConverters.toFloat)
    tol = _parameter("tol", "largest duality gap, as a share", TypeConverters.toFloat)
    maxIter = _parameter("maxIter", "most passes over the rows", TypeConverters.toInt)
    folder = _parameter("folder", "where shards lie meanwhile", TypeConverters.toString)

    def __init__(self, **parameters: Any) -> None:
        super().__init__()
        self._setDefault(loss="squared_hinge", C=1.0, tol=1e-3, maxIter=1000)
        self._set(**parameters)

    def _fit(self, dataset: Any) -> "CoRESparkModel":
        engine = SparkEngine(dataset.sparkSession)
        columns = {"features": self.getFeaturesCol(), "label": self.getLabelCol()}
        with tempfile.TemporaryDirectory(dir=self.getOrDefault("folder")) as folder:
            numbered = dataset.select(*columns.values()).withColumn(
                "row", functions.monotonically_increasing_id()
            )
            shards, target = Path(folder) / "shards", Path(folder) / "model"
            recipe = self._recipe_of(dataset)
            hash_spark_frame(numbered, shards, recipe, id="row", **columns)
            plan = plan_parts(engine, shards, progress=False)
            options = {name: self.getOrDefault(name) for name in ("loss", "C", "tol")}
            options["max_iter"] = self.getOrDefault("maxIter")
            train(plan, target, recipe, engine=engine, progress=False, **options)
            model = CoRESparkModel(CoREClassifier.load(target))
        self._copyValues(model)
        return model


class CoRESparkModel(Model, HasFeaturesCol, HasPredictionCol):
    """Predicts labels of vectors; `model` is an ordinary `CoREClassifier`."""

    def __init__(self, model: CoREClassifier) -> None:
        super().__init__()
        self.model = model

    def _transform(self, dataset: Any) -> Any:
        labels = self.model.classes_
        kind = "string" if labels.dtype.kind == "U" else "double"
        sent = dataset.sparkSession.sparkContext.broadcast(self.model)
        name = self.getPredictionCol()
        work = partial(_predicted_batches, sent, self.getFeaturesCol(), name)
        fields = [*_kept_fields(dataset, self), f"`{name}` {kind}"]
        return dataset.mapInArrow(work, ", ".join(fields))

    def save(self, path: PathLike) -> None:
        """Write the model to a file, for `CoREClassifier.load` too."""
        self.model.save(path)

    @classmethod
    def load(cls, path: PathLike) -> "CoRESparkModel":
        """A model from a file."""
        return cls(CoREClassifier.load(path))


def _kept_fields(frame: Any, stage: HasFeaturesCol) -> list[str]:
    """The fields of a frame without the vectors of a stage, with their types."""
    return [
        f"`{field.name}` {field.dataType.simpleString()}"
        for field in frame.schema
        if field.name != stage.getFeaturesCol()
    ]


def _hashed_batches(recipe: Recipe, features: str, batches: Iterator[Any]) -> Iterator[Any]:
    """Batches with signatures in the place of their vectors."""
    for batch in batches:
        rows = rows_of_table(batch, features, recipe.n_columns, "frame")
        S = sketch_batch(rows, recipe, 1, "frame")
        yield _with_columns(batch, features, signature_columns(S))


def _predicted_batches(
    sent: Any, features: str, name: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """Batches with predictions in the place of their vectors."""
    arrow = require_extra("pyarrow", "spark", "Spark frames")
    model = sent.value.set_params(n_jobs=1)
    for batch in batches:
        rows = rows_of_table(batch, features, model.recipe_.n_columns, "frame")
        labels = model.predict(rows.matrix())
        array = arrow.array(labels if labels.dtype.kind == "U" else labels.astype(float))
        yield _with_columns(batch, features, {name: array})


def _with_columns(batch: Any, features: str, added: dict[str, Any]) -> Any:
    """A batch without its vectors, and with these arrays."""
    kept = {name: batch.column(name) for name in batch.schema.names if name != features}
    return type(batch).from_pydict(kept | added)
