"""
A calibrated classifier in a pipeline
=====================================

Scores of a support vector machine are no probabilities. scikit-learn's
``CalibratedClassifierCV`` turns them into such, for ``CoREClassifier`` as for any classifier; with
``loss="log_loss"`` it has probabilities of its own. Is a row called "70 % an even digit" one in
70 of 100 cases? The closer to the diagonal, the better.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_digits
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import corekernels as ck

X, y = load_digits(return_X_y=True)
# few strokes visible: a harder problem, where some rows are in doubt
rng = np.random.default_rng(0)
X = X * (rng.random(X.shape) < 0.35)
X_train, X_test, even, even_test = train_test_split(X, y % 2 == 0, test_size=0.5, random_state=0)

root = FunctionTransformer(np.sqrt)  # zeros stay zeros
svm = ck.CoREClassifier("core1", 256, C=1, random_state=0)
models = {
    "SVM, scores squeezed": make_pipeline(root, svm),
    "SVM, calibrated": make_pipeline(root, CalibratedClassifierCV(svm, cv=3)),
    "log loss": make_pipeline(root, ck.CoREClassifier("core1", 256, loss="log_loss", C=10,
                                                      random_state=0)),
}  # fmt: skip

figure, (curve, counts) = plt.subplots(
    2, 1, figsize=(7, 6.5), height_ratios=(3, 1), sharex=True, layout="constrained"
)
curve.plot([0, 1], [0, 1], ":", color="tab:gray", label="perfect")
for (name, model), colour in zip(
    models.items(), ("tab:gray", "tab:orange", "tab:blue"), strict=True
):
    model.fit(X_train, even)
    if hasattr(model, "predict_proba"):
        probability = model.predict_proba(X_test)[:, 1]
    else:
        probability = 1 / (1 + np.exp(-model.decision_function(X_test)))
    share, mean = calibration_curve(even_test, probability, n_bins=8, strategy="quantile")
    brier = brier_score_loss(even_test, probability)
    curve.plot(mean, share, "o-", color=colour, label=f"{name} (Brier score {brier:.3f})")
    counts.hist(probability, bins=20, range=(0, 1), histtype="step", color=colour, linewidth=1.5)
curve.set(title='Is "even" as likely as the model says?', ylabel="share of rows that are even")
curve.grid(alpha=0.3)
curve.legend(loc="upper left")
counts.set(xlabel="predicted probability of an even digit", ylabel="test rows")
plt.show()
