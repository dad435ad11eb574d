"""The PRWN training step in PyTorch, written to be timed against ours.

The same network, losses and optimizer as `training_step` in benchmark_steps.py, in the
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
    """Returns a training step on fixed images, which waits for its own end.

    Args:
        variant: "nchw", "channels_last" or "compile".
    """
    torch.manual_seed(0)
    layout = torch.contiguous_format if variant == "nchw" else torch.channels_last
    model = _conv4(channels).to(memory_format=layout)
    adam = _adam(model, optimizer)
    kernels = [layer.weight for layer in model if isinstance(layer, nn.Conv2d)]
    per_class = shot + query
    labeled_images, unlabeled_images = (
        torch.rand(count, channels, size, size).contiguous(memory_format=layout)
        for count in (way * per_class, way * unlabeled)
    )
    labels = torch.arange(way).repeat_interleave(query)

    def loss() -> torch.Tensor:
        labeled = model(labeled_images).reshape(way, per_class, -1)
        points = model(unlabeled_images)
        prototypes = labeled[:, :shot].mean(dim=1)
        queries = labeled[:, shot:].reshape(way * query, -1)
        scores = -_squared_distance(queries, prototypes)
        decay = sum(kernel.square().sum() for kernel in kernels)
        total = functional.cross_entropy(scores, labels)
        total = total + walk_loss(prototypes, points, walk)
        return total + optimizer.weight_decay / 2 * decay

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


def _adam(model: nn.Module, optimizer: OptimizerConfig) -> torch.optim.Adam:
    return torch.optim.Adam(
        model.parameters(),
        lr=optimizer.learning_rate,
        betas=(optimizer.beta_1, optimizer.beta_2),
        eps=optimizer.epsilon,
    )


def _squared_distance(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    norms = a.square().sum(1)[:, None] + b.square().sum(1)[None, :]
    return norms - 2 * a @ b.T


def walk_loss(
    prototypes: torch.Tensor, points: torch.Tensor, config: WalkConfig
) -> torch.Tensor:
    """Returns walker and visit loss, as prwn_tf.walk.losses does."""
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
