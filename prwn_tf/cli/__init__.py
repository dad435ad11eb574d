"""What the programs share: paths, errors in one line, exit codes.

Nothing here loads TensorFlow, so that --help and mistakes are answered at once.
"""

import errno
import functools
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Mapping

from absl import app, flags, logging

from prwn_tf.cli import flagfiles, parse
from prwn_tf.errors import Stopped, StorageError, UserError
from prwn_tf.imports import load_tensorflow

__all__ = ["data_dir", "exit_code", "failed", "load_tensorflow", "path", "run"]
FLAGS = flags.FLAGS
OUT_OF_MEMORY = (
    "there is not enough memory; lower --train_way or --train_unlabeled, prepare the "
    "data with a smaller --image_size, or use a larger machine"
)
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS}  # or not to be written


def run(
    main: Callable[[], None], defaults: Callable[[], Mapping[str, str]] = dict
) -> None:
    """Runs a program and turns its errors into one line and an exit code.

    Args:
        defaults: answers the defaults that depend on other flags, for --help.
    """
    sys.argv[1:] = flagfiles.located(sys.argv[1:])
    flagfiles.check(sys.argv[1:])
    try:
        try:
            app.run(
                functools.partial(_guarded, main),
                flags_parser=functools.partial(parse.parsed, defaults=defaults),
            )
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # whoever read our output is gone, as head is
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)


def _guarded(main: Callable[[], None], argv: list[str]) -> int:
    if len(argv) > 1:
        raise app.UsageError(f"unexpected argument {argv[1]!r}; all settings are flags")
    logging.set_verbosity(logging.WARNING)
    return exit_code(main)


def exit_code(main: Callable[[], None]) -> int:
    """Runs something to an exit code; what went wrong is said in one line."""
    try:
        main()
    except UserError as error:
        return failed(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        return failed(_explained(error))
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not _is_out_of_memory(error):
            raise
        return failed(UserError(OUT_OF_MEMORY))
    return 0


def _is_out_of_memory(error: Exception) -> bool:
    """Returns whether memory ran out, by name: TensorFlow may not be loaded."""
    kinds = (kind.__name__ for kind in type(error).__mro__)
    return not {"MemoryError", "ResourceExhaustedError"}.isdisjoint(kinds)


def failed(error: UserError) -> int:
    """Says in one line what went wrong, and returns the exit code."""
    print(f"error: {error.with_flags}", file=sys.stderr)
    return error.exit_code


def _explained(error: OSError) -> UserError:
    """Returns what the system refused where nobody foresaw it, for the user to read."""
    kind = StorageError if error.errno in FULL else UserError
    named = error.filename is not None and error.strerror is not None
    return kind(f"{error.filename}: {error.strerror}" if named else str(error))


def data_dir() -> pathlib.Path:
    """Returns the folder of prepared data sets."""
    return path(FLAGS.data_dir)


def path(text: str | pathlib.Path) -> pathlib.Path:
    """Returns the path that a flag names; a shell leaves the ~ in --flag=~/here."""
    if "://" in str(text):
        raise UserError(
            f"{text} is an address, and only folders of this machine are read and "
            "written; copy from or to it yourself"
        )
    return pathlib.Path(os.path.expanduser(text))
