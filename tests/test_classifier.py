import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [ck.CoREClassifier(n_hashes=64), ck.CoREClassifier(n_hashes=64, loss="log_loss")]
)
def test_sklearn(estimator, check):
    check(estimator)
