"""Parts that remember how they were made, so that Keras can save a model of them."""

import dataclasses
import inspect
import sys
from collections.abc import Mapping
from typing import Any

from prwn_tf import config_json, imports
from prwn_tf.errors import UserError
from prwn_tf.settings import Settings


class Remembered:
    """The base of encoders, heads and loss terms, beside Keras' own.

    Attributes:
        made_with: the arguments of its constructor, by name.
    """

    made_with: dict[str, Any]

    def __new__(cls, *values: Any, **named: Any):
        part = super().__new__(cls, *values, **named)
        signature = inspect.signature(cls.__init__)
        _, *given = signature.bind(part, *values, **named).arguments.items()
        arguments = {}
        for name, value in given:
            several = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            arguments |= value if several else {name: value}
        object.__setattr__(part, "made_with", arguments)  # Keras is not ready yet
        return part


def description(part: Any) -> dict[str, Any]:
    """Returns what a part can be made of again, as JSON can hold it."""
    import keras

    if not isinstance(part, Remembered):
        return keras.saving.serialize_keras_object(part)
    arguments = {name: _plain(value) for name, value in part.made_with.items()}
    return {"part": _name(type(part)), "arguments": arguments}


def made_again(description: Mapping[str, Any]) -> Any:
    """Returns a part, untrained, from its description."""
    import keras

    if "part" not in description:
        return keras.saving.deserialize_keras_object(description)
    arguments = description["arguments"].items()
    kind = _known(description["part"], Remembered)
    return kind(**{name: _value(value) for name, value in arguments})


def _plain(value: Any) -> Any:
    """Returns an argument as JSON can hold it: settings by their class and fields."""
    if isinstance(value, Settings):
        return {"settings": _name(type(value)), "values": dataclasses.asdict(value)}
    return value


def _value(plain: Any) -> Any:
    """Returns the argument that `_plain` described."""
    if not isinstance(plain, Mapping) or plain.keys() != {"settings", "values"}:
        return plain
    name = plain["settings"]
    return config_json.from_dict(_known(name, Settings), plain["values"], name)


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _known(name: str, base: type) -> type:
    """Returns a class by name: ours, or one of a module that the user has imported.

    A file that somebody else wrote must not decide what is imported.
    """
    module = name.partition(":")[0]
    if not module.startswith("prwn_tf.") and module not in sys.modules:
        raise UserError(f"the model has a part {name}; import {module} first")
    kind = imports.load(name)
    if not issubclass(kind, base):
        raise UserError(f"{name} is no part of a model, but the file takes it for one")
    return kind
