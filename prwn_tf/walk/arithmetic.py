"""Two ways to count how likely walks are: by probabilities, or by their logarithms.

Both have the same operations. Probabilities are multiplied as matrices, which is right
wherever smoothing keeps sums away from zero. Logarithms underflow nowhere, but need N
numbers where the others need one.

N prototypes, U points, and R of the points whose steps are at hand. `start` [N, U] is
how likely a walk from each prototype is at each point, `end` [U, N] how likely it gets
from each point to each prototype.
"""

from collections.abc import Sequence

import tensorflow as tf


class Probabilities:
    """Counts by probabilities."""

    never = 0.0
    of_logs = staticmethod(tf.exp)
    to_logs = staticmethod(tf.math.log)
    either = staticmethod(tf.add)

    @staticmethod
    def numbers(prototypes: int) -> int:
        """Returns how many numbers are held for each number of a matrix of steps."""
        return 1

    @staticmethod
    def ahead(start: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
        """Returns starts that are a step longer: [N, R], [R, U] -> [N, U]."""
        return tf.linalg.matmul(start, steps)

    @staticmethod
    def before(steps: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        """Returns ends that are a step longer: [R, U], [U, N] -> [R, N]."""
        return tf.linalg.matmul(steps, end)

    @staticmethod
    def home(start: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        """Returns how likely a walk ends where it began: [N, U], [U, N] -> [N]."""
        return tf.reduce_sum(start * tf.linalg.matrix_transpose(end), axis=-1)

    @staticmethod
    def pulls(
        ends: Sequence[tf.Tensor], homes: Sequence[tf.Tensor], wishes: Sequence
    ) -> list[tf.Tensor]:
        """Returns what pulls at a start after each of the inner steps: each [N, U].

        Args:
            ends: with 0, 1, ... inner steps.
            homes: how likely walks of 0, 1, ... inner steps come home, each [N].
            wishes: the gradients of these, each [N].
        """
        return [
            tf.add_n(
                [
                    wish[..., None] * tf.linalg.matrix_transpose(end)
                    for wish, end in zip(wishes[step:], ends, strict=False)
                ]
            )
            for step in range(1, len(homes))
        ]

    @staticmethod
    def gradient(
        starts: Sequence[tf.Tensor], steps: tf.Tensor, pulls: Sequence[tf.Tensor]
    ) -> tf.Tensor:
        """Returns the gradient of the logarithms of steps: [R, U].

        Args:
            starts: before each of the inner steps, each [N, R].
            pulls: after each of them, as above.
        """
        before, after = tf.concat(starts, axis=-2), tf.concat(pulls, axis=-2)
        return steps * tf.linalg.matmul(before, after, transpose_a=True)


class Logarithms:
    """Counts by logarithms of probabilities; see `Probabilities`."""

    never = float("-inf")
    of_logs = staticmethod(tf.identity)
    to_logs = staticmethod(tf.identity)
    either = staticmethod(tf.experimental.numpy.logaddexp)

    @staticmethod
    def numbers(prototypes: int) -> int:
        return prototypes

    @staticmethod
    def ahead(start: tf.Tensor, steps: tf.Tensor) -> tf.Tensor:
        paths = start[..., :, :, None] + steps[..., None, :, :]  # [N, R, U]
        return tf.reduce_logsumexp(paths, axis=-2)

    @staticmethod
    def before(steps: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        end = tf.linalg.matrix_transpose(end)
        paths = steps[..., :, None, :] + end[..., None, :, :]  # [R, N, U]
        return tf.reduce_logsumexp(paths, axis=-1)

    @staticmethod
    def home(start: tf.Tensor, end: tf.Tensor) -> tf.Tensor:
        return tf.reduce_logsumexp(start + tf.linalg.matrix_transpose(end), axis=-1)

    @staticmethod
    def pulls(
        ends: Sequence[tf.Tensor], homes: Sequence[tf.Tensor], wishes: Sequence
    ) -> list[list[tuple[tf.Tensor, tf.Tensor]]]:
        """Returns the same as wishes [N] and logarithms [N, U], for any sign."""
        return [
            [
                (wish, tf.linalg.matrix_transpose(end) - home[..., None])
                for wish, home, end in zip(
                    wishes[step:], homes[step:], ends, strict=False
                )
            ]
            for step in range(1, len(homes))
        ]

    @staticmethod
    def gradient(
        starts: Sequence[tf.Tensor], steps: tf.Tensor, pulls: Sequence
    ) -> tf.Tensor:
        total = tf.zeros_like(steps)
        for start, after in zip(starts, pulls, strict=True):
            paths = start[..., :, :, None] + steps[..., None, :, :]  # [N, R, U]
            for wish, pull in after:
                share = tf.exp(paths + pull[..., :, None, :])  # of the walks home
                total += tf.einsum("...n,...nru->...ru", wish, share)
        return total


Arithmetic = type[Probabilities] | type[Logarithms]
