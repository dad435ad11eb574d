"""Everything in a folder, in a form that is the same for runs that are the same.

That is the bytes of every file, without what tells the time or is drawn anew.
"""

import hashlib
import json
import pathlib
import re
from typing import Any

DRAWN = "fingerprint.pb"  # of a SavedModel: TensorFlow draws a number for each
TIMES = {"seconds", DRAWN}  # keys of JSON; a manifest has the hash of that file
TIMED_TAGS = ("train/episodes_per_second", "_hparams_/")
NOT_WEIGHTS = ("seconds", "save_counter", "_CHECKPOINTABLE")


def content(folder: pathlib.Path) -> dict[str, Any]:
    """Returns name -> content of all files of a folder, hidden ones too."""
    contents: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_dir() or path.name == ".lock":
            continue
        if "tfevents" in path.name:
            place = f"{path.parent.relative_to(folder)}/events"
            contents |= {f"{place}: {point}": v for point, v in _events(path).items()}
        elif match := re.fullmatch(r"(.*ckpt-\d+)\.(data-.*|index)", name):
            values = _weights(folder / match[1])
            contents |= {f"{match[1]}: {variable}": v for variable, v in values.items()}
        elif path.name == DRAWN:
            contents[name] = "there"
        elif path.name == "checkpoint":
            contents[name] = re.findall(r'path: "(.*)"', path.read_text())
        elif path.suffix == ".json":
            contents[name] = _json(path)
        else:
            contents[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return contents


def without_older_checkpoints(contents: dict[str, Any]) -> dict[str, Any]:
    """Returns a content with the newest checkpoint of each folder alone.

    A run that is asked to stop writes one of its own, in the place of an older one.
    """
    steps = {name: re.fullmatch(r"(.*ckpt-)(\d+): .*", name) for name in contents}
    newest: dict[str, int] = {}
    for match in filter(None, steps.values()):
        newest[match[1]] = max(newest.get(match[1], 0), int(match[2]))
    return {
        name: content[-1:] if name.endswith("/checkpoint") else content
        for name, content in contents.items()
        if (match := steps[name]) is None or int(match[2]) == newest[match[1]]
    }


def differences(expected: dict[str, Any], actual: dict[str, Any]) -> list[str]:
    """Returns what is missing, left over or different, in words."""
    return [
        *(f"{name} is missing" for name in sorted(expected.keys() - actual.keys())),
        *(f"{name} is left over" for name in sorted(actual.keys() - expected.keys())),
        *(
            f"{name} is different"
            for name in sorted(expected.keys() & actual.keys())
            if expected[name] != actual[name]
        ),
    ]


def _events(path: pathlib.Path) -> dict[str, bytes]:
    """Returns the points of TensorBoard's curves, and its pictures."""
    import tensorflow as tf
    from tensorboard.compat.proto import event_pb2

    records = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    try:
        events = [event_pb2.Event.FromString(record) for record in records]
    except tf.errors.DataLossError as error:
        return {"damaged": str(error).encode()}
    return {
        f"{value.tag} at step {event.step}": value.tensor.SerializeToString()
        for event in events
        for value in event.summary.value
        if not value.tag.startswith(TIMED_TAGS)
    }


def _weights(path: pathlib.Path) -> dict[str, str]:
    """Returns a hash of each variable of a checkpoint, but the clock."""
    import tensorflow as tf

    try:
        reader = tf.train.load_checkpoint(str(path))
        return {
            name: hashlib.sha256(reader.get_tensor(name).tobytes()).hexdigest()
            for name in reader.get_variable_to_shape_map()
            if not name.startswith(NOT_WEIGHTS)
        }
    except (tf.errors.OpError, RuntimeError, ValueError) as error:
        return {"damaged": str(error)}


def _json(path: pathlib.Path) -> Any:
    """Returns what a JSON file holds, without times."""
    try:
        return _without_times(json.loads(path.read_text()))
    except ValueError as error:
        return f"damaged: {error}"


def _without_times(value: Any) -> Any:
    """Returns what JSON holds without keys that differ each time."""
    if isinstance(value, dict):
        return {k: _without_times(v) for k, v in value.items() if k not in TIMES}
    return [_without_times(v) for v in value] if isinstance(value, list) else value
