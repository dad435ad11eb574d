"""Pools: which images of each class may serve as labelled and which as unlabelled."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from prwn_tf import methods
from prwn_tf.config import EpisodeSpec, TrainConfig
from prwn_tf.data.store.reader import (
    UNLABELED,
    ClassStore,
    SortedClasses,
    learned_classes,
)
from prwn_tf.errors import UserError
from prwn_tf.spec import BatchSpec


@dataclasses.dataclass(frozen=True)
class Pools:
    """The rows of a split, class by class: a class's labelled ones, then the others.

    In a `shared` pool the unlabelled points of an episode are further images of the
    labelled pool, as in all validation and test episodes, and where all is labelled.
    """

    split: str
    names: tuple[str, ...]
    rows: np.ndarray  # [images] rows of the store
    starts: np.ndarray  # [classes] where each class begins in `rows`
    labeled: np.ndarray  # [classes] size of the labelled pool
    unlabeled: np.ndarray  # [classes] size of the unlabelled pool
    shared: bool = False
    extra: int = 0  # images of no class; their rows follow those of the classes

    def labeled_images(self) -> dict[str, list[int]]:
        """Returns class name -> which of its images are labelled, counted from 0."""
        return {
            name: sorted(int(row - start) for row in self.rows[start : start + count])
            for name, start, count in zip(
                self.names, self.starts, self.labeled, strict=True
            )
        }


def split_labels(store: SortedClasses, split: str, ratio: float, seed: int) -> Pools:
    """Draws floor(ratio * images) labelled images of each class; the rest has none.

    A class's draw depends on the seed and the class's place alone. With a ratio of 1
    the pool is shared.
    """
    labeled = np.array([math.floor(count * ratio + 1e-9) for count in store.counts])
    orders = [
        start + _order(seed, index, count)
        for index, (start, count) in enumerate(
            zip(store.offsets[:-1], store.counts, strict=True)
        )
    ]
    return Pools(
        split=split,
        names=store.names,
        rows=np.concatenate(orders),
        starts=store.offsets[:-1],
        labeled=labeled,
        unlabeled=store.counts - labeled,
        shared=ratio == 1,
    )


def whole(store: ClassStore, split: str) -> Pools:
    """Returns one shared pool of all images."""
    return Pools(
        split=split,
        names=store.names,
        rows=np.arange(len(store)),
        starts=store.offsets[:-1],
        labeled=store.counts,
        unlabeled=np.zeros_like(store.counts),
        shared=True,
    )


def for_run(config: TrainConfig, stores: dict[str, ClassStore]) -> dict[str, Pools]:
    """Returns the pools of each split, all of whose episodes can be drawn.

    Needs no TensorFlow, so a program can check its data before it loads that.
    """
    prepared = stores["train"].image_shape
    if prepared != config.image_shape:
        raise UserError(
            f"the model takes images of {config.image_shape} but {config.dataset} is "
            f"prepared with {prepared}; prepare it again"
        )
    for split in ("train", "val", "test"):
        if not stores[split].names:
            raise UserError(
                f"the {split} split of {config.dataset} has no class; prepare the data "
                "with some"
            )
    pools = {split: whole(stores[split], split) for split in ("val", "test")}
    for pool in pools.values():
        check(pool, config.test)
    learned = learned_classes(stores, config.train_splits)
    _check_names(learned, config)
    labels = split_labels(learned, "train", config.label_ratio, config.label_seed)
    extra = len(stores[UNLABELED]) if UNLABELED in stores else 0
    pools["train"] = dataclasses.replace(labels, extra=extra)
    check(pools["train"], methods.training_spec(config), flag_prefix="train_")
    return pools


def fitted(config: TrainConfig, stores: Mapping[str, ClassStore]) -> TrainConfig:
    """Returns a config with what its data decides: how many classes a layer tells."""
    if not methods.METHODS[config.method].batches:
        return config
    classes = len(learned_classes(stores, config.train_splits).names)
    return dataclasses.replace(
        config, classifier=dataclasses.replace(config.classifier, classes=classes)
    )


def _check_names(learned: SortedClasses, config: TrainConfig) -> None:
    """Raises if splits that are learned together have classes of one name."""
    shared = [name for name, count in Counter(learned.names).items() if count > 1]
    if shared:
        splits = ",".join(config.train_splits)
        raise UserError(
            f"--train_splits={splits}: these splits of {config.dataset} share "
            f"{len(shared)} class{'es' * (len(shared) > 1)}, such as {shared[0]!r}, "
            "and each would be learned as two; leave it out, or prepare the data with "
            "validation classes of their own (--hold_out=classes)"
        )


def check(pools: Pools, spec: EpisodeSpec | BatchSpec, flag_prefix: str = "") -> None:
    """Raises unless every class can take any place in an episode.

    Args:
        flag_prefix: "train_" where the flags to lower are those of training.
    """
    if isinstance(spec, BatchSpec):
        _check_batch(pools, spec)
        return
    if spec.classes > len(pools.names):
        raise UserError(
            f"an episode needs {spec.way} classes + {spec.distractors} distractor "
            f"classes, but the {pools.split} split has {len(pools.names)}; lower "
            f"--{flag_prefix}way or --{flag_prefix}distractors"
        )
    if spec.extra > pools.extra:
        raise UserError(
            f"an episode needs {spec.extra} images of no class, but the {pools.split} "
            f"split has {pools.extra}; lower --{flag_prefix}extra, or prepare the data "
            "with --unlabeled_source"
        )
    labelled = {"shot": spec.shot, "query": spec.query}
    unlabelled = {"unlabeled": spec.unlabeled}
    if pools.shared:
        _check_pool(pools, pools.labeled, "", labelled | unlabelled, flag_prefix)
        return
    _check_pool(pools, pools.labeled, "labelled ", labelled, flag_prefix)
    _check_pool(pools, pools.unlabeled, "unlabelled ", unlabelled, flag_prefix)


def _check_batch(pools: Pools, spec: BatchSpec) -> None:
    labelled = int(pools.labeled.sum())
    if labelled < spec.batch_size:
        raise UserError(
            f"a mini-batch needs {spec.batch_size} labelled images, but the "
            f"{pools.split} split has {labelled}; lower --batch_size, or raise "
            "--label_ratio"
        )


def _check_pool(
    pools: Pools,
    counts: np.ndarray,
    kind: str,
    parts: dict[str, int],
    flag_prefix: str,
) -> None:
    parts = {name: count for name, count in parts.items() if count}
    smallest, need = int(np.argmin(counts)), sum(parts.values())
    if counts[smallest] >= need:
        return
    asked = " + ".join(f"{name} {count}" for name, count in parts.items())
    lower = " or ".join(f"--{flag_prefix}{name}" for name in parts)
    remedy = {"labelled ": ", or raise --label_ratio", "": ""}.get(
        kind, ", or lower --label_ratio"
    )
    raise UserError(
        f"class {pools.names[smallest]!r} of the {pools.split} split has "
        f"{counts[smallest]} {kind}images but an episode needs {need} ({asked}); "
        f"lower {lower}{remedy}"
    )


def _order(seed: int, class_index: int, count: int) -> np.ndarray:
    # NumPy promises that bit generators stay as they are, not `permutation`.
    bits = np.random.Philox(np.random.SeedSequence([seed, class_index]))
    return np.argsort(np.random.Generator(bits).random(count), kind="stable")


def describe(pools: Pools, ratio: float, seed: int) -> dict[str, Any]:
    """Returns the draw as it is stored with a run."""
    return {"label_ratio": ratio, "seed": seed, "labelled": pools.labeled_images()}
