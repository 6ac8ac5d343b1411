"""Select features
===============

Select at most 10 of 30 measurements of breast tumours that distinguish benign from malignant.

The data set comes with scikit-learn. The fitness is the accuracy of a nearest-neighbour classifier
in five-fold cross-validation, minus a small penalty for each feature.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import harmonium as hm

patients = load_breast_cancer()
classifier = make_pipeline(StandardScaler(), KNeighborsClassifier(n_neighbors=5))


def accuracy(bits: np.ndarray) -> float:
    """Return the cross-validated accuracy with the features whose bit is one, minus the penalty."""
    chosen = patients.data[:, bits == 1]
    return cross_val_score(classifier, chosen, patients.target, cv=5).mean() - 0.001 * bits.sum()


result = hm.maximize(accuracy, length=30, subset_size=(1, 10), max_calls=200, seed=1)
everything = accuracy(np.ones(30, dtype=np.uint8))
names = ", ".join(patients.feature_names[result.x == 1])
print(f"{result.fun:.4f} with {result.x.sum()} features ({names})")
print(f"{everything:.4f} with all 30; {result.calls} calls")

share = np.mean([solution.x for solution in result.solutions], axis=0)
often = np.argsort(share)[-10:]
plt.figure(figsize=(6, 3.5), layout="constrained")
plt.barh(patients.feature_names[often], share[often])
plt.xlabel("share of the ten best solutions")
plt.show()
