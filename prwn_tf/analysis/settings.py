"""The settings of the analyses; they need no TensorFlow, so flags are checked first."""

import dataclasses
from typing import Any

from prwn_tf import config_json
from prwn_tf.config import EpisodeSpec
from prwn_tf.errors import UserError


@dataclasses.dataclass(frozen=True)
class Settings:
    """What the analyses look at, and how closely.

    Attributes:
        spec: the episodes to walk through.
        test: the episodes to measure accuracy on.
        ways: numbers of classes to tell apart; empty for the published ones.
        steps: inner steps of a walk, at most.
        smoothing: of the graph that is walked on.
        epsilons: how far an image is moved for local consistency, each a share of the
            median norm of the images.
        episode: the one that is drawn.
    """

    spec: EpisodeSpec
    test: EpisodeSpec
    episodes: int = 300
    ways: tuple[int, ...] = ()
    steps: int = 10
    smoothing: float = 0.1
    epsilons: tuple[float, ...] = (1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
    episode: int = 0

    def __post_init__(self):
        if self.episode >= self.episodes:
            raise UserError(
                f"--episode={self.episode} is not among the {self.episodes} episodes "
                "from 0 on; raise --eval_episodes"
            )

    def about(self, *more: str) -> dict[str, Any]:
        """Returns the settings that belong to every result, and those named."""
        return {
            "spec": config_json.to_dict(self.spec),
            "episodes": self.episodes,
            **{name: getattr(self, name) for name in more},
        }
