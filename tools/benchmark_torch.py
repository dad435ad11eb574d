"""The PRWN training step in PyTorch, written to be timed against ours.

The same network, losses and optimizer as `training_step` in benchmark.py, in the
idiom of that library: eager in its default layout, eager with channels last, and
compiled.
"""

from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional

from prwn_tf.config import OptimizerConfig, WalkConfig


def training_step(
    size: int,
    channels: int,
    way: int,
    shot: int,
    query: int,
    unlabeled: int,
    variant: str,
    walk: WalkConfig,
    optimizer: OptimizerConfig,
) -> Callable[[], float]:
    """One training step on fixed images, as a function that waits for its end.

    Args:
        variant: "nchw", "channels_last" or "compile".
    """
    torch.manual_seed(0)
    model = _conv4(channels)
    layout = torch.contiguous_format if variant == "nchw" else torch.channels_last
    model = model.to(memory_format=layout)
    adam = torch.optim.Adam(
        model.parameters(),
        lr=optimizer.learning_rate,
        betas=(optimizer.beta_1, optimizer.beta_2),
        eps=optimizer.epsilon,
    )
    kernels = [layer.weight for layer in model if isinstance(layer, nn.Conv2d)]
    per_class = shot + query
    labeled_images = torch.rand(way * per_class, channels, size, size)
    unlabeled_images = torch.rand(way * unlabeled, channels, size, size)
    labeled_images = labeled_images.contiguous(memory_format=layout)
    unlabeled_images = unlabeled_images.contiguous(memory_format=layout)
    labels = torch.arange(way).repeat_interleave(query)

    def loss() -> torch.Tensor:
        labeled = model(labeled_images).reshape(way, per_class, -1)
        points = model(unlabeled_images)
        prototypes = labeled[:, :shot].mean(dim=1)
        queries = labeled[:, shot:].reshape(way * query, -1)
        scores = -_squared_distance(queries, prototypes)
        decay = sum(kernel.square().sum() for kernel in kernels)
        return (
            functional.cross_entropy(scores, labels)
            + walk_loss(prototypes, points, walk)
            + optimizer.weight_decay / 2 * decay
        )

    compiled = torch.compile(loss) if variant == "compile" else loss

    def step() -> float:
        adam.zero_grad(set_to_none=True)
        total = compiled()
        total.backward()
        adam.step()
        return total.item()

    return step


def _conv4(channels: int) -> nn.Module:
    blocks = []
    for index in range(4):
        blocks += [
            nn.Conv2d(channels if index == 0 else 64, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64, momentum=0.1),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
    return nn.Sequential(*blocks, nn.Flatten())


def _squared_distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    norms = a.square().sum(1)[:, None] + b.square().sum(1)[None, :]
    return norms - 2 * a @ b.T


def walk_loss(
    prototypes: torch.Tensor, points: torch.Tensor, config: WalkConfig
) -> torch.Tensor:
    """Walker and visit loss, as in prwn_tf.walk.losses."""
    smoothing = config.smoothing
    to_prototype = -_squared_distance(points, prototypes)  # [U, N]
    to_point = -_squared_distance(points, points)  # [U, U]
    to_point = to_point - config.self_loop_penalty * torch.eye(len(points))
    way, number = prototypes.shape[0], points.shape[0]
    leave = (1 - smoothing) * to_prototype.T.softmax(1) + smoothing / number
    arrive = (1 - smoothing) * to_prototype.softmax(1) + smoothing / way
    wander = to_point.softmax(1)
    total = -config.visit_weight * leave.mean(0).log().mean()
    position = leave
    for step in range(config.steps + 1):
        if step > 0:
            position = position @ wander
        home = (position * arrive.T).sum(1)
        total = total - config.decay**step * home.log().mean()
    return config.weight * total
