"""What several workers gain, on paper."""

import csv
import pathlib

from tools import scaling

ROOT = pathlib.Path(__file__).parents[2]


def test_each_worker_of_a_ring_sends_nearly_all_twice():
    step = scaling.Step(numbers=1_000_000, operations=1.0)
    assert step.sent(1) == 0
    assert step.sent(2) == 4e6
    assert step.sent(4) == 6e6


def test_the_page_has_the_table():
    with (ROOT / "results/scaling.csv").open(encoding="utf-8", newline="") as file:
        table = scaling.table(list(csv.reader(file)))
    assert table in (ROOT / "docs/cluster.md").read_text(encoding="utf-8")
