"""Settings to and from JSON, and what differs between two of them."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from prwn_tf.errors import UserError
from prwn_tf.own import OwnPart, own_part

T = TypeVar("T")


def to_dict(config: Any) -> dict[str, Any]:
    """Returns a dataclass as what JSON can hold."""
    return dataclasses.asdict(config)


def from_dict(kind: type[T], values: Mapping[str, Any], where: str = "config") -> T:
    """Returns the dataclass `kind` of what `to_dict` made; all else is an error."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where} should hold settings, found {values!r}")
    hints = typing.get_type_hints(kind)
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise UserError(f"{where} has unknown settings {', '.join(unknown)}")
    try:
        return kind(
            **{
                name: _value(hints[name], value, f"{where}.{name}")
                for name, value in values.items()
            }
        )
    except (TypeError, OverflowError) as error:
        raise UserError(f"{where} is incomplete or of a wrong type: {error}") from error


def differences(
    old: Any, new: Any, prefix: str = "", *, may_change: bool = False
) -> dict[str, tuple[Any, Any]]:
    """Returns the fields that differ, as name -> (old, new).

    Those that a resumed run may change count only if `may_change` is set.
    """
    changes = {}
    for field in dataclasses.fields(old):
        if field.metadata.get("may_change") and not may_change:
            continue
        was, now = getattr(old, field.name), getattr(new, field.name)
        name = prefix + field.name
        if dataclasses.is_dataclass(was):
            changes |= differences(was, now, f"{name}.", may_change=may_change)
        elif was != now:
            changes[name] = (was, now)
    return changes


def _value(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        return from_dict(hint, value, where)
    if hint == Mapping[str, OwnPart]:
        return _own_parts(value, where)
    if isinstance(hint, types.GenericAlias):  # tuple[int, ...], tuple[str, ...]
        kind = typing.get_args(hint)[0]
        if isinstance(value, list | tuple) and all(type(v) is kind for v in value):
            return tuple(value)
    elif hint is float:
        if type(value) in (int, float):
            return float(value)
    elif type(value) is hint:
        return value
    raise UserError(f"{where} should be of type {hint}, found {value!r}")


def _own_parts(values: Any, where: str) -> dict[str, OwnPart]:
    """Returns the user's parts of a config, if they are what they were."""
    if not isinstance(values, Mapping):
        raise UserError(f"{where} should hold settings, found {values!r}")
    parts = {}
    for name, stored in values.items():
        if not isinstance(stored, Mapping) or stored.keys() != {"sha256", "settings"}:
            raise UserError(f"{where}.{name} should hold sha256 and settings")
        part = own_part(name)
        if part.sha256 != stored["sha256"]:
            raise UserError(
                f"{name} has changed since the run of {where} was begun; put the file "
                "as it was back, or train in another --workdir"
            )
        settings = part.settings
        if settings is not None:
            settings = from_dict(type(settings), stored["settings"], f"{where}.{name}")
        parts[name] = dataclasses.replace(part, settings=settings)
    return parts
