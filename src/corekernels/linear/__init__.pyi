from .classifier import HashedLinearClassifier as HashedLinearClassifier
from .losses import Loss as Loss
from .path import CPath as CPath, c_path as c_path
from .regressor import HashedLinearRegressor as HashedLinearRegressor
