"""What the programs share: paths, errors in one line, exit codes.

Nothing here loads TensorFlow, so that --help and mistakes are answered at once.
"""

import errno
import functools
import gc
import os
import pathlib
import signal
import sys
from collections.abc import Callable, Mapping

from absl import app, flags, logging

from prwn_tf import files
from prwn_tf.cli import flagfiles, parse, streams
from prwn_tf.errors import Stopped, StorageError, UserError, is_out_of_memory
from prwn_tf.imports import load_tensorflow as import_tensorflow

FLAGS = flags.FLAGS
OUT_OF_MEMORY = (
    "there is not enough memory; lower --train_way or --train_unlabeled, prepare the "
    "data with a smaller --image_size, or use a larger machine"
)
NOT_WRITTEN = {*files.FULL, errno.EROFS}


def run(
    main: Callable[[], None], defaults: Callable[[], Mapping[str, str]] = dict
) -> None:
    """Runs a program and turns its errors into one line and an exit code.

    Args:
        defaults: answers the defaults that depend on other flags, for --help.
    """
    with streams.patient() as (output, _):
        code = 0
        try:
            sys.argv[1:] = flagfiles.located(sys.argv[1:])
            flagfiles.check(sys.argv[1:])
            app.run(
                functools.partial(_guarded, main),
                flags_parser=functools.partial(parse.parsed, defaults=defaults),
            )
        except SystemExit as end:
            code = end.code
        output.flush()
        if output.error is not None and code in (0, 1):  # 1 is how absl ends --helpfull
            code = _unheard(output.error)
    sys.exit(code)


def load_tensorflow() -> None:
    """Imports TensorFlow, over which the garbage collector then passes.

    It stays until the program ends. To look through its million objects again and
    again, and at the end once more, takes a second or two.
    """
    import_tensorflow()
    gc.freeze()


def _unheard(error: OSError) -> int:
    """Returns the exit code of a program that could not say what it did."""
    if isinstance(error, BrokenPipeError):  # whoever read it is gone, as head is
        return 128 + signal.SIGPIPE
    reason = error.strerror or error
    return failed(StorageError(f"cannot write to standard output: {reason}"))


def _guarded(main: Callable[[], None], argv: list[str]) -> int:
    if len(argv) > 1:
        text = f"error: unexpected argument {argv[1]!r}; --help lists the flags"
        print(text, file=sys.stderr)
        return 1
    logging.set_verbosity(logging.WARNING)
    _check_given()
    return exit_code(main)


def _check_given() -> None:
    """Ends the program if a flag of text was given and holds nothing.

    `--output=$UNSET` of a shell would else mean the folder that one happens to be in. A
    list may be empty: `--augment=` is how one says that there is none.
    """
    for name in FLAGS:
        flag = FLAGS[name]
        if flag.present and (flag.value == "" or flag.value == [""]):
            error = UserError(
                f"--{name} was given and is empty, as by a variable of the shell that "
                "is not set; give a value, or leave it out"
            )
            sys.exit(failed(error))


def exit_code(main: Callable[[], None]) -> int:
    """Runs something to an exit code; what went wrong is said in one line."""
    try:
        main()
    except UserError as error:
        return failed(error)
    except OSError as error:
        return failed(_explained(error))
    except Stopped as stopped:
        print(stopped, file=sys.stderr)
        return stopped.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        return failed(UserError(OUT_OF_MEMORY))
    return 0


def failed(error: UserError) -> int:
    """Says in one line what went wrong, and returns the exit code."""
    print(f"error: {error.with_flags}", file=sys.stderr)
    return error.exit_code


def _explained(error: OSError) -> UserError:
    """Returns what the system refused where nobody foresaw it, for the user to read."""
    kind = StorageError if error.errno in NOT_WRITTEN else UserError
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
