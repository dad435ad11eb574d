"""The numbers that new layers compute with, for as long as it is said."""

import contextlib
from collections.abc import Iterator

import keras


def policy_of(precision: str) -> str:
    """Returns Keras' name for float32 weights that are computed with otherwise."""
    return "float32" if precision == "float32" else f"mixed_{precision}"


@contextlib.contextmanager
def policy_scope(policy: str | keras.DTypePolicy) -> Iterator[None]:
    """Lets layers that are made inside have a policy, unless they name their own."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)
