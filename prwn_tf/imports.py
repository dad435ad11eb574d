"""Classes by name, loaded when they are needed: TensorFlow takes seconds.

Parts of the package and of the user are named alike, "module:Class".
"""

import gc
import hashlib
import importlib
import os
import pathlib
import sys
import tempfile
from typing import Any

from prwn_tf.errors import UserError


def load(name: str) -> Any:
    """Returns the class that "module:Class" names.

    Raises:
        UserError: in one line, whatever is wrong with a module of the user's.
    """
    module_name, _, class_name = name.partition(":")
    load_tensorflow()
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise UserError(f"{name} cannot be imported: {error}") from error
        raise UserError(
            f"{name} cannot be imported: there is no module {error.name!r} here; start "
            "in its folder, or add that to PYTHONPATH"
        ) from error
    # Whatever the module does when it is imported.
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise UserError(f"{name} cannot be imported: {reason}") from error
    if not isinstance(getattr(module, class_name, None), type):
        classes = sorted(k for k, v in vars(module).items() if isinstance(v, type))
        raise UserError(
            f"{name} does not exist: the module {module_name!r} has no class "
            f"{class_name!r}, but {', '.join(classes) or 'none at all'}"
        )
    return getattr(module, class_name)


def source_hash(part: type) -> str:
    """Returns the SHA-256 of the file that a class of the user's is written in."""
    path = getattr(sys.modules[part.__module__], "__file__", None)
    if path is None:
        raise UserError(
            f"{part.__module__}:{part.__qualname__} is in no file, so a run could not "
            "be taken up with it; put it into one"
        )
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()


def load_tensorflow() -> None:
    """Imports TensorFlow without its greeting of a dozen lines.

    Its C++ part writes to standard error while it loads, whatever the log level says;
    if the import fails, what it wrote is shown. Nothing that it makes is garbage, so
    none is looked for meanwhile.
    """
    if "tensorflow" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as greeting:
        os.dup2(greeting.fileno(), 2)
        collecting = gc.isenabled()
        gc.disable()
        try:
            import tensorflow as tf

            tf.config.list_physical_devices()
        except BaseException:
            greeting.seek(0)
            os.write(kept, greeting.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            if collecting:
                gc.enable()
