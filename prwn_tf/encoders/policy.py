"""What new layers take from Keras' global settings, for as long as it is said."""

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


@contextlib.contextmanager
def keras_as_it_comes() -> Iterator[None]:
    """Keeps what the user has set up in Keras for other models away from ours.

    That is in keras.json, or was set in the same process.
    """
    config = keras.config
    before = (config.floatx(), config.epsilon(), config.image_data_format())
    try:
        with policy_scope("float32"):
            _set_up("float32", 1e-7, "channels_last")
            yield
    finally:
        _set_up(*before)


def _set_up(floatx: str, epsilon: float, image_data_format: str) -> None:
    """Changes Keras' settings but its policy."""
    keras.config.set_floatx(floatx)
    keras.config.set_epsilon(epsilon)
    keras.config.set_image_data_format(image_data_format)
