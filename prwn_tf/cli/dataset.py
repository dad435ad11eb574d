"""The flag --dataset, which takes any name that a kind of data set allows."""

from collections.abc import Iterable

from absl import flags

from prwn_tf import dataset_names

flags.disclaim_key_flags()  # the flag is that of whoever has it defined here


class Parser(flags.ArgumentParser):
    """Takes the name of a data set of one of some kinds, as a flag."""

    def __init__(self, kinds: Iterable[str]):
        self.kinds = tuple(kinds)
        self.syntactic_help = f"<{dataset_names.shown(self.kinds)}>"

    def parse(self, argument: str) -> str:
        if argument.partition(":")[0] not in self.kinds:
            raise ValueError(f"value should be one of {self.syntactic_help}")
        dataset_names.kind(argument)
        return argument

    def flag_type(self) -> str:
        return "data set"


def define(kinds: Iterable[str], text: str, default: str | None = "glyphs") -> None:
    """Defines --dataset."""
    flags.DEFINE(
        Parser(kinds),
        "dataset",
        default,
        text,
        serializer=flags.ArgumentSerializer(),
    )
