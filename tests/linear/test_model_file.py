"""Model files: classifiers and regressors, saved and loaded, damaged, or written long ago."""

import numpy as np
import pandas as pd
import pytest

import corekernels as ck
from corekernels.errors import FileError, ParameterError
from corekernels.io import detect, load_arrays, save_arrays
from corekernels.io.provenance import Origin

LABELS = {
    "strings": np.array(["zero", "one", "zwei", "drei", "четыре", "五"]),
    "objects": np.array(list("abcdef"), dtype=object),
    "integers": np.arange(6) - 3,
    "two": np.array(["no", "yes"] * 3),
    "truths": np.array([False, True] * 3),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_save_and_load(digits, labels, tmp_path):
    X, y = digits[0][:400], labels[digits[1][:400] % 6]
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    weight = {labels[0].item() if labels.dtype != object else labels[0]: 2.0}
    model = ck.CoREClassifier(
        n_hashes=32, n_bits=4, loss="log_loss", class_weight=weight, random_state=0
    ).fit(frame, y)
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = ck.CoREClassifier.load(path)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.predict(frame).dtype == model.predict(frame).dtype
    assert again.get_params() == model.get_params()
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    again.partial_fit(frame, y)
    assert [child.name for child in tmp_path.iterdir()] == ["model.safetensors"]


def test_what_a_file_cannot_hold(digits, tmp_path):
    X, y = digits[0][:100], digits[1][:100]
    model = ck.CoREClassifier(n_hashes=8, random_state=np.random.RandomState(0)).fit(X, y)
    model.save(tmp_path / "model")  # the seed that was drawn is what counts
    assert ck.CoREClassifier.load(tmp_path / "model").random_state == model.recipe_.seed
    model.set_params(class_weight=[(1, 2)], C=1 + 2j)
    with pytest.raises(ParameterError, match="of type complex, which a file cannot hold"):
        model.save(tmp_path / "model")


def test_damaged_model_files(digits, tmp_path):
    X, y = digits[0][:100], digits[1][:100]
    path = tmp_path / "model.safetensors"
    ck.CoREClassifier(n_hashes=8, random_state=0).fit(X, y).save(path)
    arrays, about = load_arrays(path, "classifier", 1, mmap=False)

    def refused(arrays, about, message):
        save_arrays(tmp_path / "bad", "classifier", 1, arrays, about)
        with pytest.raises(FileError, match=message):
            ck.CoREClassifier.load(tmp_path / "bad")

    refused({**arrays, "planes": arrays["planes"][:3]}, about, "do not fit its recipe and classes")
    refused({**arrays, "planes": arrays["planes"] * np.nan}, about, "not finite")
    refused({"planes": arrays["planes"]}, about, "damaged or unknown")
    refused(arrays, {**about, "classes": about["classes"][:5]}, "do not fit")
    refused(arrays, {**about, "class_type": "nonsense"}, "damaged or unknown")
    parameters = {**about["parameters"], "secret": 1}
    refused(arrays, {**about, "parameters": parameters}, "unexpected keyword argument 'secret'")
    refused(arrays, {**about, "recipe": {}}, "damaged or unknown")
    for class_type, classes in (
        ("<U100000000", [str(number) for number in range(10)]),  # gigabytes, if it were believed
        ("<i8", [2**70, *range(1, 10)]),
        ("<i8", about["classes"][::-1]),
        ("object", [[number] for number in range(10)]),
    ):
        changed = {**about, "class_type": class_type, "classes": classes}
        refused(arrays, changed, "damaged or unknown .*(classes|out of bounds|too large)")
    for wrong in (-1, float("inf"), 2**80, "60", None):
        refused(arrays, {**about, "n_rows": wrong}, "the number of rows is no integer")
    refused(arrays, {**about, "feature_names": ["a"]}, "names of columns do not fit")
    with pytest.raises(FileError, match="does not exist"):
        ck.CoREClassifier.load(tmp_path / "nothing")


def test_a_model_that_was_loaded_is_saved_to_the_same_bytes(digits, tmp_path):
    model = ck.CoREClassifier(n_hashes=8, random_state=0).fit(digits[0][:60], digits[1][:60])
    model.save(tmp_path / "model", provenance=[Origin("rows.svm", 0, 60, one_based=False)])
    again = ck.load_model(tmp_path / "model")
    assert type(again) is ck.CoREClassifier
    assert again.provenance_ == [Origin("rows.svm", 0, 60, one_based=False)]
    again.save(tmp_path / "again", provenance=again.provenance_)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("kernel", ["core1", "core2", "resemblance"])
def test_regressors_are_saved_and_loaded(digits, kernel, tmp_path):
    frame = pd.DataFrame(digits[0][:300], columns=[f"pixel {i}" for i in range(64)])
    model = ck.CoRERegressor(kernel, 32, n_bits=4, C=0.5, random_state=7).fit(
        frame, digits[1][:300]
    )
    path = tmp_path / "model"
    model.save(path, provenance=[Origin("digits.npy", 0, 300)])
    assert detect(path) == "model"
    for again in (ck.CoRERegressor.load(path), ck.load_model(path)):
        assert type(again) is ck.CoRERegressor
        np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
        assert again.get_params() == model.get_params()
        assert again.linear_.intercept_ == model.linear_.intercept_
        assert again.linear_.n_rows_ == 300
        assert again.feature_names_in_.tolist() == frame.columns.tolist()
        assert again.provenance_ == [Origin("digits.npy", 0, 300)]
        assert not hasattr(again, "n_iter_")
    with pytest.raises(
        FileError, match=r"holds corekernels\.regressor, not corekernels\.classifier"
    ):
        ck.CoREClassifier.load(path)


def test_what_is_no_model(digits, tmp_path):
    X = digits[0][:100]
    ck.CoREHasher(n_hashes=8, random_state=0).fit(X).sketch(X).save(tmp_path / "rows")
    with pytest.raises(FileError, match=r"rows: holds corekernels\.signatures"):
        ck.load_model(tmp_path / "rows")
    with pytest.raises(FileError, match="nothing: does not exist"):
        ck.load_model(tmp_path / "nothing")
    (tmp_path / "text").write_text("1 2:3")
    with pytest.raises(FileError, match="text: not a whole safetensors file"):
        ck.load_model(tmp_path / "text")
