"""The analyses of `prwn_tf.analyze` by name; a new one is a file and a line here."""

from collections.abc import Callable, Sequence

from prwn_tf.evaluation import consistency, landing, projection, ways
from prwn_tf.evaluation.findings import Finding
from prwn_tf.evaluation.settings import Settings
from prwn_tf.evaluation.subject import Subject

ANALYSES: dict[str, Callable[[Sequence[Subject], Settings], Finding]] = {
    "landing": landing.find,
    "ways": ways.find,
    "consistency": consistency.find,
    "embedding": projection.find,
}
