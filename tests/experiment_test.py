"""What a run says of its labels before it trains."""

import pytest

from prwn_tf import experiment
from prwn_tf.protocols import Prepared, Task, protocol


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ({}, "all; further ones of an episode's classes are its unlabelled images"),
        ({"label_ratio": 0.4}, "40 % of each training class (--label_ratio), the rest"),
        (
            {"prepared": Prepared(train_images=2)},
            "all, and none is left over: it trains without the walk",
        ),
        (
            {"method": "pn_vat", "prepared": Prepared(train_images=2)},
            "all, and none is left over: it trains without the vat",
        ),
        ({"method": "pn"}, "all"),
    ],
)
def test_labels_and_what_is_walked_over(task, text):
    config = protocol(Task(**{"dataset": "folder", "method": "prwn"} | task))
    assert experiment.labelled(config).startswith(text)
