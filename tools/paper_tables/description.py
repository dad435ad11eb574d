"""A data set's columns of the paper's tables, described as data.

A row is a run, and the flagfile of its name makes it. To add one: write the flagfile,
add its name to `rows`, and the cells that it answers to `tables`.
"""

import dataclasses
import pathlib
from collections.abc import Callable, Mapping
from typing import NamedTuple


class Cell(NamedTuple):
    """A line of a table, and the row and kind of inference that has ours.

    Attributes:
        paper: shot -> published accuracy (%), and its interval if there is one; a shot
            that is left out was not published.
    """

    title: str
    row: str
    adapt: str
    paper: Mapping[int, tuple[float, ...]]


class Table(NamedTuple):
    """The cells of one kind of test episodes."""

    title: str
    distractors: int  # classes of an episode
    cells: tuple[Cell, ...]


class Published(NamedTuple):
    """A number of the paper's analyses."""

    label: str  # of the run in our figures
    row: str
    number: float | None  # None: the paper has no such run


class HigherWays(NamedTuple):
    """Accuracies of episodes with more and more classes.

    Attributes:
        runs: the first is the one that the others are compared with.
        at: the number of ways that the paper has accuracies (%) for; None where it has
            a figure alone.
    """

    title: str
    runs: tuple[Published, ...]
    at: int | None = None


class Factor(NamedTuple):
    """A setting that is varied alone: a panel in the figure of an ablation.

    Attributes:
        own: what the row itself has.
        written: returns a value as the flag takes it.
    """

    title: str
    flag: str
    own: float
    others: tuple[float, ...]
    written: Callable[[float], str] = "{:g}".format


class Ablation(NamedTuple):
    """Trainings of a row with one setting changed, measured on validation classes.

    Attributes:
        episodes: length of these trainings, the row's own for comparison included;
            None for its full length, where the released row is what they are compared
            with.
    """

    row: str
    label: str  # of the method, as figures have it
    factors: tuple[Factor, ...]
    episodes: int | None = None

    @property
    def base(self) -> str:
        """The name of the training with no setting changed."""
        return f"{self.row}_short" if self.episodes else self.row

    def name(self, factor: Factor, value: float) -> str:
        """Returns the name of the training with one setting changed."""
        return (
            self.base if value == factor.own else f"{self.base}_{factor.flag}_{value:g}"
        )

    def trainings(self) -> dict[str, list[str]]:
        """Returns the name of each training -> its flags beside the row's own."""
        length = [f"--episodes={self.episodes}"] if self.episodes else []
        trainings = {self.base: length} if self.episodes else {}
        for factor in self.factors:
            for value in factor.others:
                changed = [f"--{factor.flag}={factor.written(value)}"]
                trainings[self.name(factor, value)] = [*length, *changed]
        return trainings


class Situation(NamedTuple):
    """A kind of test episodes, by what differs from a row's own."""

    title: str
    task: Mapping[str, int | str]  # fields of an EpisodeSpec


def situations(
    tasks: Mapping[str, Mapping[str, int | str]],
) -> tuple[Situation, ...]:
    """Returns situations by their titles, without distractors unless they name them."""
    return tuple(
        Situation(title, {"distractors": 0} | task) for title, task in tasks.items()
    )


@dataclasses.dataclass(frozen=True)
class DatasetTables:
    """The rows of one data set, what they answer, and where they lie.

    Attributes:
        source_help: what `--source` is.
        flagfiles: folder of the flagfiles, one for each row.
        notes: file of the prose above the tables, which begins with the page's title.
        rows: in the order of training.
        shots: a column each, of labelled images of a class in a test episode.
        evaluations: row -> further tests of it, each a mapping of task flags; flags
            that are left out are those of the row's own test.
        page_beside: whether the page lies beside the folder of the rows, not in it.
        short: whether rows have fewer episodes than the published settings.
        shows_images: whether pictures with images of the data set may be released.
        clean: probabilities that a walker among distractors is at a clean point.
        consistency: average VAT losses, how far an answer moves under the worst small
            change of an image.
        consistency_episodes: how many these are of; it embeds every image many times.
        landing: label and row of the runs whose walkers come home or not.
        mapped: label and row of the runs whose embeddings are drawn side by side.
        mapped_ways: how many classes of them.
        compared: rows whose differences to those of `clean` are shown, episode by
            episode.
        origins: row -> the row whose encoder it begins with, trained before it.
        ablations: trainings with one setting changed.
        seeds: other seeds with which the rows of `spread` are trained as well, since
            one label split hides what another one would give.
        inference_rows: whose inference is measured with all adaptations and rivals,
            in each of the `situations`.
    """

    dataset: str
    about: str
    source_help: str
    flagfiles: str
    notes: pathlib.Path
    rows: tuple[str, ...]
    tables: tuple[Table, ...]
    shots: tuple[int, ...]
    higher_ways: HigherWays
    clean: tuple[Published, ...]
    consistency: tuple[Published, ...]
    landing: tuple[tuple[str, str], ...]
    mapped: tuple[tuple[str, str], ...]
    mapped_ways: int
    compared: tuple[str, ...]
    consistency_episodes: int = 100  # as many as the authors look at
    evaluations: Mapping[str, tuple[Mapping[str, int], ...]] = dataclasses.field(
        default_factory=dict
    )
    page_beside: bool = False
    short: bool = False
    shows_images: bool = False
    origins: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ablations: tuple[Ablation, ...] = ()
    seeds: tuple[int, ...] = ()
    spread: tuple[str, ...] = ()
    inference_rows: tuple[str, ...] = ()
    situations: tuple[Situation, ...] = ()

    @property
    def released_dir(self) -> str:
        """The folder of the released rows."""
        return f"results/{self.dataset}"

    @property
    def runs_dir(self) -> str:
        """The folder of the runs themselves."""
        return f"runs/{self.dataset}"

    @property
    def all_rows(self) -> tuple[str, ...]:
        """The rows, and those that only have another seed."""
        return (*self.rows, *self._repeats)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells of all tables."""
        return tuple(cell for table in self.tables for cell in table.cells)

    @property
    def _repeats(self) -> dict[str, tuple[str, int]]:
        """Name -> flagfile, and seed of labels, weights and episodes."""
        return {
            repeated_name(row, seed): (row, seed)
            for row in self.spread
            for seed in self.seeds
        }

    def splits(self, row: str) -> tuple[str, ...]:
        """Returns the names of a row's trainings, one for each label split."""
        seeds = self.seeds if row in self.spread else ()
        return (row, *(repeated_name(row, seed) for seed in seeds))

    def further_tests(self, name: str) -> tuple[Mapping[str, int], ...]:
        """Returns how a training is tested beside its own test, as its row is."""
        row, _ = self._repeats.get(name, (name, None))
        return self.evaluations.get(row, ())

    @property
    def analyzed(self) -> set[str]:
        """The rows that the analyses look into."""
        published = (*self.higher_ways.runs, *self.clean, *self.consistency)
        labeled = (*self.landing, *self.mapped)
        return {each.row for each in published} | {row for _, row in labeled}

    @property
    def ablation_rows(self) -> dict[str, tuple[str, list[str]]]:
        """Name of an ablation's training -> the row that it changes, and how."""
        return {
            name: (ablation.row, flags)
            for ablation in self.ablations
            for name, flags in ablation.trainings().items()
        }

    def page(self, output: pathlib.Path) -> pathlib.Path:
        """Returns where the page of the rows in a folder lies."""
        return (output.parent if self.page_beside else output) / "README.md"

    def flags(self, row: str, root: pathlib.Path) -> list[str]:
        """Returns the flags that make a row what it is, for a repository at `root`."""
        changes = self.ablation_rows
        for name, (repeated, seed) in self._repeats.items():
            changes[name] = repeated, [f"--seed={seed}", f"--label_seed={seed}"]
        flagfile, flags = changes.get(row, (row, []))
        return [f"--flagfile={root / self.flagfiles / flagfile}.flags", *flags]


def repeated_name(row: str, seed: int) -> str:
    """Returns the name of a row with another seed."""
    return f"{row}_seed{seed}"
