"""Kills every program at random changes of the disk, and compares all that it writes.

    python tools/soak.py --kills=1000

Each program runs once undisturbed. Then it is killed, by SIGKILL or SIGTERM, right
before or in the middle of a change of the disk that is drawn, and started again until
it is done, at times over the result of an earlier run. All files must be those of the
undisturbed run but for times, nothing may be left over, and what is replaced must be
whole at every moment. Needs a C compiler, for the library that counts the changes.
"""

import contextlib
import pathlib
import random
import shutil
import signal
import tempfile
import time
from collections import Counter

from absl import app, flags
from soaking import comparing, killing, programs

FLAGS = flags.FLAGS
MAX_KILLS = 3  # in a row


def define_flags() -> None:
    """Defines the flags of this program.

    Not at import, since the children import this file and have flags of their own.
    """
    flags.DEFINE_integer("kills", 10, "Kills to survive.", lower_bound=0)
    flags.DEFINE_list("programs", None, "Which ones to kill; default: all.")
    flags.DEFINE_integer("episodes", 12, "Episodes of a training.", lower_bound=1)
    flags.DEFINE_integer(
        "checkpoint_every", 2, "Episodes between checkpoints.", lower_bound=1
    )
    flags.DEFINE_integer("seed", 0, "Draws programs and changes.")
    flags.DEFINE_string("soak_dir", None, "Folder for all; default: a temporary.")


def main(argv: list[str]) -> int:
    del argv
    with contextlib.ExitStack() as stack:
        folder = FLAGS.soak_dir or stack.enter_context(tempfile.TemporaryDirectory())
        problems = soak(pathlib.Path(folder).resolve())
    return 1 if problems else 0


def soak(folder: pathlib.Path) -> list[str]:
    """Kills programs in a folder, prints each kill, and returns what went wrong."""
    killer = killing.Killer(folder)
    shared, place = folder / "shared", folder / "place"
    programs.make_shared(shared, killer)
    training = {
        "episodes": FLAGS.episodes,
        "checkpoint_every": FLAGS.checkpoint_every,
        "validate_every": max(1, FLAGS.episodes // 3),
    }
    commands = programs.commands(shared, place, training)
    chance, problems, kills = random.Random(FLAGS.seed), [], Counter()
    trials: dict[str, Trial] = {}
    start = time.monotonic()
    while kills.total() < FLAGS.kills:
        name = chance.choice(FLAGS.programs or list(commands))
        if name not in trials:
            trials[name] = Trial(name, commands[name], killer, folder, place)
        most = min(MAX_KILLS, FLAGS.kills - kills.total())
        done, words = trials[name].run(chance, most)
        kills[name] += done
        problems += [f"{name}: {each}" for each in words]
        print(f"{kills.total()} kills; {name}: {_in_short(words)}", flush=True)
    seconds = time.monotonic() - start
    print(
        f"{kills.total()} kills ({', '.join(f'{k} {v}' for k, v in kills.items())}) in "
        f"{seconds:.0f} s, {3600 * kills.total() / seconds:.0f} an hour: "
        f"{f'{len(problems)} DIFFERENCES' if problems else 'all files are equal'}"
    )
    return problems


def _in_short(words: list[str]) -> str:
    """Returns the first of many problems."""
    more = [f"and {len(words) - 3} more"] if len(words) > 3 else []
    return "; ".join(words[:3] + more) or "same"


class Trial:
    """One program and what it writes when nobody disturbs it."""

    def __init__(
        self,
        name: str,
        command: list[str],
        killer: killing.Killer,
        folder: pathlib.Path,
        place: pathlib.Path,
    ):
        self._name, self._command = name, command
        self._killer, self._place = killer, place
        self._undisturbed = folder / "undisturbed" / name
        self._begin(again=False)
        outcome = killer.run(command)
        if outcome.code != 0:
            raise SystemExit(f"{name} ended with {outcome.code}: {killer.log()}")
        self._changes = outcome.changes
        self._expected = comparing.content(place)
        shutil.copytree(place, self._undisturbed)

    def run(self, chance: random.Random, most: int) -> tuple[int, list[str]]:
        """Kills the program a few times: how often it was killed, and what is wrong."""
        again = self._name in programs.REPLACED and chance.random() < 0.5
        self._begin(again)
        kills, problems, look = 0, [], lambda content: content
        for _ in range(chance.randint(1, most)):
            sign = signal.SIGTERM if chance.random() < 0.2 else signal.SIGKILL
            at = chance.randint(1, self._changes)
            outcome = self._killer.run(self._command, at, sign)
            if not outcome.killed:
                problems += self._unless_done(outcome)
                break
            kills += 1
            if sign == signal.SIGTERM:
                look = comparing.without_older_checkpoints
            if again:
                problems += self._not_whole(at)
        problems += self._unless_done(self._killer.run(self._command))
        problems += comparing.differences(
            look(self._expected), look(comparing.content(self._place))
        )
        left = [path.name for path in self._killer.temporary.iterdir()]
        return kills, problems + [f"{name} is left in TMPDIR" for name in left]

    def _begin(self, again: bool) -> None:
        """Empties the place, or puts the undisturbed result there."""
        shutil.rmtree(self._place, ignore_errors=True)
        shutil.rmtree(self._killer.temporary)
        self._killer.temporary.mkdir()
        if again:
            shutil.copytree(self._undisturbed, self._place)
        else:
            self._place.mkdir(parents=True)

    def _unless_done(self, outcome: killing.Outcome) -> list[str]:
        """Returns what is wrong with the end of a program that nobody killed."""
        if outcome.code == 0:
            return []
        return [f"ended with {outcome.code}: {self._killer.log()}"]

    def _not_whole(self, at: int) -> list[str]:
        """Returns what a kill took of a result that was there before."""
        folder = f"{programs.REPLACED[self._name]}/"
        contents = comparing.content(self._place)
        expected = {k: v for k, v in self._expected.items() if k.startswith(folder)}
        there = {name: contents[name] for name in expected if name in contents}
        differences = comparing.differences(expected, there)
        return [f"killed at change {at}, {each}" for each in differences]


if __name__ == "__main__":
    define_flags()
    app.run(main)
