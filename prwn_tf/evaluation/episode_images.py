"""The images that episodes are made of, for those who want to see or replay them."""

import pathlib
from collections.abc import Iterator, Sequence

import numpy as np

from prwn_tf import files
from prwn_tf.config import ASKED, EpisodeSpec
from prwn_tf.data.store.reader import ClassStore
from prwn_tf.episodes import plan as plan_lib
from prwn_tf.episodes.pools import Pools

HEADER = (*ASKED, "episode", "role", "class", "image")


def write(
    path: pathlib.Path,
    store: ClassStore,
    pools: Pools,
    specs: Sequence[EpisodeSpec],
    episodes: int,
    seed: int,
) -> None:
    """Writes which images make episodes 0..episodes-1, as a table."""
    files.write_csv(path, HEADER, _rows(store, pools, specs, episodes, seed))


def _rows(
    store: ClassStore,
    pools: Pools,
    specs: Sequence[EpisodeSpec],
    episodes: int,
    seed: int,
) -> Iterator[list[int | str]]:
    """Yields a row for each image of episodes 0..episodes-1, in the columns of HEADER.

    `image` counts the images of a class from 0, in the order of the prepared data set.
    """
    for spec in specs:
        kind = [getattr(spec, name) for name in ASKED]
        planned = plan_lib.plans(pools, spec, seed, episodes)
        for index, plan in enumerate(planned.as_numpy_iterator()):
            for role, row in _roles(plan, spec):
                place = int(np.searchsorted(store.offsets, row, side="right")) - 1
                image = int(row - store.offsets[place])
                yield [*kind, index, role, store.names[place], image]


def _roles(plan: plan_lib.Plan, spec: EpisodeSpec) -> Iterator[tuple[str, int]]:
    """Yields what each image of an episode is, and its row in the store."""
    roles = {
        "support": plan.support,
        "query": plan.query,
        "unlabeled": plan.unlabeled[: spec.clean_points],
        "distractor": plan.unlabeled[spec.clean_points :],
    }
    for role, images in roles.items():
        yield from ((role, row) for row in images.ravel())
