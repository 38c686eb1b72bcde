"""Five kernels on handwritten digits, then the same from hashes: run by `make demo`.

Digits come with scikit-learn: 1,797 images of 8 x 8 pixels, half of them zero. Rows have
length one, as in the paper. Each digit is told from the rest, as linear SVMs do it, by all
five alike (with one classifier per pair of digits, `SVC`'s own way, the linear kernel is as
good as CoRE on data this small). C is chosen by cross-validation within the training rows.
The hashed classifier learns from k codes and weights a row, without any kernel matrix.
"""

import time

from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC

import corekernels as ck

Cs = [0.1, 1, 10, 100]


def binarised(kernel):
    """The kernel of the rows' supports, every nonzero counting as 1."""
    return lambda X, Y=None: kernel((X != 0) * 1.0, None if Y is None else (Y != 0) * 1.0)


# On rows of length one the linear kernel is the correlation.
KERNELS = {
    "linear": ck.correlation,
    "linear, binarised rows": binarised(ck.correlation),
    "resemblance": ck.resemblance,
    "CoRE 1": ck.core1,
    "CoRE 2": ck.core2,
}


def main():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, stratify=y, random_state=0
    )
    # the first call in an installation compiles the loops
    ck.core1(X_train[:10])
    ck.CoREClassifier(n_hashes=16, random_state=0).fit(X_train, y_train).predict(X_test)
    print(f"Digits: {len(X_train)} rows to learn from, {len(X_test)} to test on.")
    print("SVM, each class against the rest; C by cross-validation on the training rows.\n")
    print(f"{'kernel':<24}{'test accuracy':>14}{'C':>8}{'kernel ms':>12}{'SVM s':>8}")
    for name, kernel in KERNELS.items():
        start = time.perf_counter()
        K_train, K_test = kernel(X_train), kernel(X_test, X_train)
        computed = time.perf_counter()
        model = OneVsRestClassifier(SVC(kernel="precomputed"))
        search = GridSearchCV(model, {"estimator__C": Cs}, cv=5).fit(K_train, y_train)
        accuracy = 100 * search.score(K_test, y_test)
        seconds = time.perf_counter() - computed
        print(
            f"{name:<24}{accuracy:>12.1f} %{search.best_params_['estimator__C']:>8g}"
            f"{1000 * (computed - start):>12.1f}{seconds:>8.2f}"
        )
    hashed(X_train, X_test, y_train, y_test)


def hashed(X_train, X_test, y_train, y_test):
    """The same data through `CoREHasher` and the learner on packed signatures."""
    learner = ck.linear.HashedLinearClassifier(random_state=0)
    print(
        "\nHashed CoRE 1, learned from packed signatures; C by cross-validation along its path.\n"
    )
    print(f"{'hashes a row':<24}{'test accuracy':>14}{'C':>8}{'hash ms':>12}{'path s':>8}")
    for n_hashes in (64, 256, 1024):
        hasher = ck.CoREHasher("core1", n_hashes, random_state=0).fit(X_train)
        start = time.perf_counter()
        S_train, S_test = hasher.sketch(X_train), hasher.sketch(X_test)
        computed = time.perf_counter()
        path = ck.linear.c_path(S_train, y_train, Cs, model=learner, progress=False)
        accuracy = 100 * path.best_model.score(S_test, y_test)
        seconds = time.perf_counter() - computed
        print(
            f"{n_hashes:<24}{accuracy:>12.1f} %{path.best_C:>8g}"
            f"{1000 * (computed - start):>12.1f}{seconds:>8.2f}"
        )


if __name__ == "__main__":
    main()
