"""scikit-learn's base classes where it is installed, and their few words where not.

The classifier works without scikit-learn, which only figures need.
"""

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError
except ImportError:

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A classifier was asked before it was fitted."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Settings are the arguments of the constructor."""

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            names = list(inspect.signature(type(self).__init__).parameters)[1:]
            return {name: getattr(self, name) for name in names}

        def set_params(self, **params: Any) -> "BaseEstimator":
            known = self.get_params()
            for name, value in params.items():
                if name not in known:
                    raise ValueError(f"unknown setting {name!r}; known: {[*known]}")
                setattr(self, name, value)
            return self

    class ClassifierMixin:  # type: ignore[no-redef]
        """Accuracy as the score."""

        def score(self, images: Any, labels: Any) -> float:
            import numpy as np

            return float(np.mean(self.predict(images) == np.asarray(labels)))

    class TransformerMixin:  # type: ignore[no-redef]
        """Fits and transforms in one call."""

        def fit_transform(self, images: Any, labels: Any = None, **more: Any) -> Any:
            return self.fit(images, labels, **more).transform(images)


__all__ = ["BaseEstimator", "ClassifierMixin", "NotFittedError", "TransformerMixin"]
