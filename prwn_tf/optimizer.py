"""How weights are moved."""

import dataclasses

from prwn_tf.settings import MAX_INT, Settings, require, setting


@dataclasses.dataclass(frozen=True)
class OptimizerConfig(Settings):
    """Adam with a rate that is halved at given steps.

    Attributes:
        weight_decay: w adds w / 2 * |kernel|^2 of every convolution to the loss.
    """

    learning_rate: float = setting(1e-3, "Adam's rate at the start.", "(0, inf)")
    halve_at: tuple[int, ...] = setting((), "Steps at which the rate is halved.")
    beta_1: float = setting(0.9, "Adam's first beta.", "[0, 1)")
    beta_2: float = setting(0.99, "Adam's second beta.", "[0, 1)")
    epsilon: float = setting(1e-8, "Adam's epsilon.", "(0, inf)", flag="adam_epsilon")
    weight_decay: float = setting(
        5e-5, "How much weights are held small (kernels alone).", "[0, inf)"
    )

    def __post_init__(self):
        super().__post_init__()
        steps = sorted({step for step in self.halve_at if 0 < step <= MAX_INT})
        require(
            list(self.halve_at) == steps,
            f"halve_at must be increasing steps from 1 to {MAX_INT}, got "
            f"{self.halve_at}",
        )
