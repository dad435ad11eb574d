"""How weights are moved."""

import dataclasses
from typing import ClassVar

from prwn_tf.settings import MAX_INT, Settings, require, setting


@dataclasses.dataclass(frozen=True)
class OptimizerConfig(Settings):
    """Adam or SGD, with a rate that falls at given steps or along a cosine.

    Attributes:
        cosine_steps: of their own, because a resumed run may change its episodes. With
            them, `halve_at` has no say.
        weight_decay: w adds w / 2 * |kernel|^2 of every convolution to the loss.
    """

    group: ClassVar[str] = "optimizer"

    kind: str = setting(
        "adam",
        "What moves weights; sgd has Nesterov's momentum.",
        ("adam", "sgd"),
        flag="optimizer",
    )
    learning_rate: float = setting(
        1e-3, "Rate at the start.", "(0, inf)", also=("lr", "rate")
    )
    halve_at: tuple[int, ...] = setting(
        (), "Steps at which the rate is halved, or multiplied by --rate_factor."
    )
    rate_factor: float = setting(
        0.5, "What the rate is multiplied by at the steps of --halve_at.", "(0, 1)"
    )
    cosine_steps: int = setting(
        0,
        "Steps in which the rate falls to 0 along a cosine; 0: it does not.",
        "[0, inf)",
    )
    beta_1: float = setting(0.9, "Adam's first beta.", "[0, 1)")
    beta_2: float = setting(0.99, "Adam's second beta.", "[0, 1)")
    epsilon: float = setting(1e-8, "Adam's epsilon.", "(0, inf)", flag="adam_epsilon")
    momentum: float = setting(0.9, "Momentum of sgd.", "[0, 1)")
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

    def unused_reason(self, name: str) -> str:
        """Returns why nothing looks at a setting; empty if something does."""
        owner = {"momentum": "sgd"} | dict.fromkeys(
            ("beta_1", "beta_2", "epsilon"), "adam"
        )
        if owner.get(name, self.kind) != self.kind:
            return f"it belongs to --optimizer={owner[name]}"
        if name in ("halve_at", "rate_factor") and self.cosine_steps:
            return "with --cosine_steps the rate falls along a cosine"
        if name == "rate_factor" and not self.halve_at:
            return "--halve_at names no step"
        return ""
