"""What a notebook expects of a Keras model: a short progress line, a name, saving."""

from collections.abc import Mapping
from typing import Any

import keras

from prwn_tf import remembered

VIEWS = {"optimizer_groups", "players"}  # of parts that are saved where they are
SHOWN = ("loss", "accuracy", "val_loss", "val_accuracy")  # in the line of progress


class NotebookModel(keras.Model):
    """A model of an encoder, a head and regularizers that `keras` can keep in a file.

    Example:
        model.save("mine.keras")
        model = keras.saving.load_model("mine.keras")  # after importing prwn_tf.model
    """

    def fit(self, *data: Any, callbacks: Any = None, **options: Any):
        """Trains as Keras does; the line of progress has loss and accuracy alone."""
        return super().fit(*data, callbacks=_with_short_line(callbacks), **options)

    def evaluate(self, *data: Any, callbacks: Any = None, **options: Any):
        """Measures as Keras does, with the same line."""
        return super().evaluate(*data, callbacks=_with_short_line(callbacks), **options)

    def get_config(self) -> dict[str, Any]:
        """Returns what the parts can be made of again."""
        return {
            "encoder": remembered.description(self.encoder),
            "head": remembered.description(self.head),
            "regularizers": [remembered.description(t) for t in self.regularizers],
            "resplits": self.resplits,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> "NotebookModel":
        """Returns an untrained model of the same parts."""
        return cls(
            remembered.made_again(config["encoder"]),
            remembered.made_again(config["head"]),
            [remembered.made_again(each) for each in config["regularizers"]],
            resplits=config.get("resplits", 1),  # older files have none
            seed=config.get("seed", 0),
        )

    def get_compile_config(self) -> dict[str, Any]:
        """Returns what Keras knows of the training, and the head's own optimizer."""
        known = super().get_compile_config()
        own = keras.saving.serialize_keras_object(self.head_optimizer)
        # Of nothing, Keras would make a model that is compiled with RMSprop.
        return known | {"head_optimizer": own} if known else {}

    def compile_from_config(self, config: Mapping[str, Any]) -> None:
        """Compiles a loaded model as it was, with the variables of all optimizers."""
        options = keras.saving.deserialize_keras_object(dict(config))
        self.head_optimizer = options.pop("head_optimizer", None)
        self.compile(**options)
        self.build_optimizers()

    def __dir__(self) -> list[str]:
        """Hides what is there twice: Keras saves everything that is listed here."""
        return sorted({*super().__dir__()} - VIEWS)

    def __repr__(self) -> str:
        terms = ", ".join(type(term).__name__ for term in self.regularizers)
        parts = f"{type(self.encoder).__name__}, {type(self.head).__name__}, [{terms}]"
        return f"{type(self).__name__}({parts})"


class ShortLine(keras.callbacks.ProgbarLogger):
    """Keras' line of progress with loss and accuracy; the history has everything."""

    def on_train_batch_end(self, batch: int, logs: Mapping | None = None) -> None:
        super().on_train_batch_end(batch, _short(logs))

    def on_test_batch_end(self, batch: int, logs: Mapping | None = None) -> None:
        super().on_test_batch_end(batch, _short(logs))

    def on_epoch_end(self, epoch: int, logs: Mapping | None = None) -> None:
        super().on_epoch_end(epoch, _short(logs))

    def on_test_end(self, logs: Mapping | None = None) -> None:
        super().on_test_end(_short(logs))


def _short(logs: Mapping | None) -> dict[str, Any]:
    return {name: value for name, value in (logs or {}).items() if name in SHOWN}


def _with_short_line(callbacks: Any) -> Any:
    """Returns callbacks with our line; a list that Keras has made has its line."""
    if isinstance(callbacks, keras.callbacks.CallbackList):
        return callbacks
    several = callbacks if isinstance(callbacks, list | tuple) else [callbacks]
    return [ShortLine(), *(each for each in several if each is not None)]
