"""The settings of the loss terms that can join any head, and of the k-means heads.

A weight of 0 leaves a term out.
"""

import dataclasses

from prwn_tf.errors import UserError


def require(condition: bool, message: str) -> None:
    """Raises what is wrong with a setting, for the user to read."""
    if not condition:
        raise UserError(message)


@dataclasses.dataclass(frozen=True)
class WalkConfig:
    """The random walk loss.

    Attributes:
        weight: of the walk in the total loss (lambda in the paper); 0 leaves it out.
        steps: inner steps among the unlabelled points, at most (tau).
        decay: weight of t inner steps is decay ** t (alpha).
        visit_weight: of the visit loss beside the walker loss.
        smoothing: share of the uniform distribution mixed into the steps from and to
            the prototypes. The authors' code has 0.1, the paper does not mention it.
        self_loop_penalty: subtracted from a point's similarity to itself. The authors'
            code has 1000, too little for 84-pixel images, where distances exceed it.
    """

    weight: float = 1.0
    steps: int = 3
    decay: float = 0.7
    visit_weight: float = 1.0
    smoothing: float = 0.1
    self_loop_penalty: float = 1e9

    def __post_init__(self):
        require(self.weight >= 0, f"walk_weight must be >= 0, got {self.weight}")
        require(self.steps >= 0, f"walk_steps must be >= 0, got {self.steps}")
        require(0 < self.decay <= 1, f"walk_decay must be in (0, 1], got {self.decay}")
        require(
            self.visit_weight >= 0,
            f"visit_weight must be >= 0, got {self.visit_weight}",
        )
        require(
            0 <= self.smoothing < 1,
            f"graph_smoothing must be in [0, 1), got {self.smoothing}",
        )


@dataclasses.dataclass(frozen=True)
class VatConfig:
    """Virtual adversarial training on unlabelled points and queries.

    Attributes:
        epsilon: length of the change, over a whole image with values in [0, 1].
        xi: length at which the search for the worst change looks around.
        iterations: of that search.
        query_weight: of the queries beside the unlabelled points.
    """

    weight: float = 1.0
    epsilon: float = 8.0
    xi: float = 0.01
    iterations: int = 1
    query_weight: float = 0.2

    def __post_init__(self):
        require(self.weight >= 0, f"vat_weight must be >= 0, got {self.weight}")
        require(self.epsilon > 0, f"vat_epsilon must be positive, got {self.epsilon}")
        require(self.xi > 0, f"vat_xi must be positive, got {self.xi}")
        require(
            self.iterations >= 1,
            f"vat_iterations must be at least 1, got {self.iterations}",
        )
        require(
            self.query_weight >= 0,
            f"vat_query_weight must be >= 0, got {self.query_weight}",
        )


@dataclasses.dataclass(frozen=True)
class EntropyConfig:
    """Certainty about the unlabelled points."""

    weight: float = 1.0

    def __post_init__(self):
        require(self.weight >= 0, f"entropy_weight must be >= 0, got {self.weight}")


@dataclasses.dataclass(frozen=True)
class AssociationConfig:
    """Learning by association: a walk from labelled points and straight back.

    Attributes:
        visit_weight: of the visit loss beside the walker loss.
    """

    weight: float = 1.0
    visit_weight: float = 1.0

    def __post_init__(self):
        require(self.weight >= 0, f"association_weight must be >= 0, got {self.weight}")
        require(
            self.visit_weight >= 0,
            f"association_visit_weight must be >= 0, got {self.visit_weight}",
        )


@dataclasses.dataclass(frozen=True)
class KMeansConfig:
    """Where the k-means heads of Ren et al. start, and where paper and code differ.

    Attributes:
        radius: of the cluster that takes distractors in, before it is learned.
        mask_power: a masked point counts mask ** power. The released code has 2,
            because two functions multiply by the mask; the paper has 1.
    """

    radius: float = 100.0
    mask_power: int = 1

    def __post_init__(self):
        require(self.radius > 0, f"cluster_radius must be positive, got {self.radius}")
        require(
            self.mask_power in (1, 2),
            f"mask_power must be 1 or 2, got {self.mask_power}",
        )
