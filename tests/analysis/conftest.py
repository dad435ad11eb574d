"""A split whose embeddings are made up, so that an oracle can see them."""

import numpy as np
import pytest

from prwn_tf.analysis.subject import Subject
from prwn_tf.episodes import pools
from prwn_tf.evaluation.embeddings import Embeddings
from prwn_tf.heads.prototypes import PrototypeHead


class HeadOnly:
    """A model that has nothing but a head: embeddings are given."""

    def __init__(self):
        self.head = PrototypeHead()


@pytest.fixture
def make_subject(make_store):
    """Subjects over 8 classes of 9 images, each class around its own corner."""

    def make(label="PRWN", spread=0.6, size=8, seed=0) -> Subject:
        store = make_store([9] * 8, name=f"{label}{seed}")["test"]
        noise = np.random.default_rng(seed).normal(size=(len(store), size))
        corners = 2 * np.eye(size)[store.labels()]
        return Subject(
            label=label,
            model=HeadOnly(),
            store=store,
            pools=pools.whole(store, "test"),
            embeddings=Embeddings.of(corners + spread * noise),
            seed=0,
        )

    return make
