"""The walk over many points, without the U x U numbers of their steps.

Some rows of the point-to-point step are made at a time, used and forgotten, forwards
and once more for the gradient, as kernels of attention do. So it holds O(U (D + N))
numbers.

A walk is counted from both ends at once: with starts S_k = Γ(p→x) Γ(x→x)^k and ends
E_k = Γ(x→x)^k Γ(x→p), T(t) = S_{t-k} E_k for any k. One sweep over the rows makes both
longer by a step, so t steps take t / 2 sweeps. The gradient needs the same products:
∂T(t) / ∂Γ(x→x) sums S_{k-1}ᵀ ⊗ E_{t-k} over k.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from prwn_tf.walk.arithmetic import Arithmetic
from prwn_tf.walk.graph import LogRows

# All points [U, D] -> the function that makes rows of the steps among them.
LogSteps = Callable[[tf.Tensor], LogRows]


def home_by_tiles(
    leave: tf.Tensor,
    arrive: tf.Tensor,
    points: tf.Tensor,
    log_steps: LogSteps,
    steps: int,
    rows: int,
    arithmetic: Arithmetic,
) -> list[tf.Tensor]:
    """Returns how likely walks of 0..steps inner steps come home, each [N].

    Args:
        leave: starts without inner steps, [N, U].
        arrive: ends without inner steps, [U, N].
        points: [U, D].
        rows: of the point-to-point step, made at once.
    """

    @tf.custom_gradient
    def home(leave, arrive, points):
        # Nothing in here is for the tape of the caller to remember.
        leave, arrive, points = map(tf.stop_gradient, (leave, arrive, points))
        sweep = _Sweep(points, log_steps, rows, arithmetic)
        starts, ends = [leave], [arrive]

        def lengthen(to: int) -> None:
            while len(starts) <= to:
                start, end = sweep.longer(starts[-1], ends[-1])
                starts.append(start)
                ends.append(end)

        lengthen((steps + 1) // 2)
        homes = [
            arithmetic.home(starts[t - t // 2], ends[t // 2]) for t in range(steps + 1)
        ]

        def gradient(*wishes):
            lengthen(steps - 1)
            pulls = arithmetic.pulls(ends[:steps], homes, wishes)
            start, end, of_points = sweep.last(starts[:steps], ends[steps - 1], pulls)
            of_leave, of_arrive = _outer_gradients(
                [*starts[:steps], start], [*ends[:steps], end], arithmetic, wishes
            )
            return of_leave, of_arrive, of_points

        return homes, gradient

    return home(leave, arrive, points)


def _outer_gradients(
    starts: Sequence[tf.Tensor],
    ends: Sequence[tf.Tensor],
    arithmetic: Arithmetic,
    wishes: Sequence[tf.Tensor],
) -> list[tf.Tensor]:
    """Returns the gradients of `leave` and `arrive`: every walk begins and ends so."""
    leave, arrive = starts[0], ends[0]
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([leave, arrive])
        from_leave = [arithmetic.home(leave, end) for end in ends]
        to_arrive = [arithmetic.home(start, arrive) for start in starts]
    return [
        tape.gradient(from_leave, leave, list(wishes)),
        tape.gradient(to_arrive, arrive, list(wishes)),
    ]


class _Sweep:
    """Goes over the point-to-point step, some rows at a time."""

    def __init__(
        self,
        points: tf.Tensor,
        log_steps: LogSteps,
        rows: int,
        arithmetic: Arithmetic,
    ):
        self._points = points
        self._log_steps = log_steps
        self._rows = rows
        self._arithmetic = arithmetic

    def longer(self, start: tf.Tensor, end: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Returns a start [N, U] and an end [U, N] that are a step longer."""

        log_rows = self._log_steps(self._points)  # once for all tiles

        def tile(places, inside, ahead):
            some = tf.gather(self._points, places, axis=-2)
            steps = self._arithmetic.of_logs(log_rows(some, places))
            first = self._columns(start, places, inside)
            ahead = self._arithmetic.either(ahead, self._arithmetic.ahead(first, steps))
            return (ahead,), (self._arithmetic.before(steps, end),)

        (ahead,), (before,) = self._go(tile, (self._never(start),), rows_made=1)
        return ahead, before

    def last(
        self, starts: Sequence[tf.Tensor], end: tf.Tensor, pulls: Sequence
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Returns the last start and end made longer, and the gradient of points."""

        def tile(places, inside, ahead, gradient):
            some = tf.gather(self._points, places, axis=-2)
            with tf.GradientTape() as tape:
                tape.watch([some, self._points])
                logs = self._log_steps(self._points)(some, places)
            steps = self._arithmetic.of_logs(logs)
            firsts = [self._columns(start, places, inside) for start in starts]
            ahead = self._arithmetic.either(
                ahead, self._arithmetic.ahead(firsts[-1], steps)
            )
            of_some, of_all = tape.gradient(
                logs,
                [some, self._points],
                self._arithmetic.gradient(firsts, steps, pulls),
            )
            before = self._arithmetic.before(steps, end)
            return (ahead, gradient + of_all), (before, of_some)

        (ahead, of_all), (before, of_some) = self._go(
            tile, (self._never(starts[-1]), tf.zeros_like(self._points)), rows_made=2
        )
        return ahead, before, of_all + of_some

    def _go(self, tile: Callable, totals: tuple, rows_made: int) -> tuple[tuple, tuple]:
        """Runs `tile` over all rows: its last totals, and the rows that it made.

        The last tile has places beyond the points, which stand for the last point
        and are not `inside`.
        """
        count, rows = self._points.shape[-2], self._rows
        tiles = -(-count // rows)
        made = tuple(
            tf.TensorArray(self._points.dtype, tiles) for _ in range(rows_made)
        )

        def one(index, totals, made):
            places = index * rows + tf.range(rows)
            totals, new = tile(tf.minimum(places, count - 1), places < count, *totals)
            made = tuple(
                array.write(index, each) for array, each in zip(made, new, strict=True)
            )
            return index + 1, totals, made

        # Tiles that ran side by side would be held side by side.
        _, totals, made = tf.while_loop(
            lambda index, *_: index < tiles,
            one,
            (tf.constant(0), totals, made),
            parallel_iterations=1,
        )
        return totals, tuple(_in_line(array.stack(), count) for array in made)

    def _columns(
        self, start: tf.Tensor, places: tf.Tensor, inside: tf.Tensor
    ) -> tf.Tensor:
        """Returns a start [N, U] at some places, never at those outside: [N, R]."""
        chosen = tf.gather(start, places, axis=-1)
        return tf.where(inside, chosen, tf.cast(self._arithmetic.never, start.dtype))

    def _never(self, start: tf.Tensor) -> tf.Tensor:
        """Returns the start of a walk that is nowhere: [N, U]."""
        return tf.fill(tf.shape(start), tf.cast(self._arithmetic.never, start.dtype))


def _in_line(tiles: tf.Tensor, count: int) -> tf.Tensor:
    """Returns tiles [tiles, ..., R, C] one below the other: [..., U, C]."""
    axes = tiles.shape.rank
    tiles = tf.transpose(tiles, [*range(1, axes - 2), 0, axes - 2, axes - 1])
    *lead, number, rows, columns = tiles.shape
    return tf.reshape(tiles, [*lead, number * rows, columns])[..., :count, :]
