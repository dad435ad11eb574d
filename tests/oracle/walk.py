"""The prototypical random walk, path by path (methods.md 4.1, 4.4 and 5).

Axes: N prototypes, U unlabelled points, D embedding size. A walk leaves a prototype
for a point, wanders between points `steps` times, and arrives at a prototype.

Everything that returns probabilities is computed with plain softmax and products;
`walk_losses` is computed separately in log space, so that the two check each other.
"""

import fractions
import itertools

import numpy as np

from tests.oracle import prototypes as metric


def leave_probability(
    prototypes: np.ndarray, unlabeled: np.ndarray, smoothing: float = 0.1
) -> np.ndarray:
    """Gamma_p->x: softmax over the points, for each prototype (4.1 step 2).

    Mixed with the uniform distribution, (1 - c) Gamma + c / U; [N, U].
    """
    distances = metric.squared_distances(prototypes, unlabeled)  # [N, U]
    points = len(unlabeled)
    leave = np.zeros_like(distances)
    for j in range(len(distances)):
        row = metric.softmax(-distances[j])
        leave[j] = (1.0 - smoothing) * row + smoothing / points
    return leave


def wander_probability(unlabeled: np.ndarray) -> np.ndarray:
    """Gamma_x->x: softmax over the other points, never staying (4.1 step 2, 18-9).

    The diagonal is exactly 0 and there is no smoothing; [U, U].
    """
    distances = metric.squared_distances(unlabeled, unlabeled)  # [U, U]
    points = len(distances)
    if points < 2:
        raise ValueError(f"wandering needs 2 or more points, got {points}")
    wander = np.zeros_like(distances)
    for i in range(points):
        others = [k for k in range(points) if k != i]
        wander[i, others] = metric.softmax(-distances[i, others])
    return wander


def arrive_probability(
    prototypes: np.ndarray, unlabeled: np.ndarray, smoothing: float = 0.1
) -> np.ndarray:
    """Gamma_x->p: softmax over the prototypes, for each point (4.1 step 2).

    Mixed with the uniform distribution, (1 - c) Gamma + c / N; [U, N].
    """
    distances = metric.squared_distances(unlabeled, prototypes)  # [U, N]
    classes = len(prototypes)
    arrive = np.zeros_like(distances)
    for i in range(len(distances)):
        row = metric.softmax(-distances[i])
        arrive[i] = (1.0 - smoothing) * row + smoothing / classes
    return arrive


def transitions(
    prototypes: np.ndarray, unlabeled: np.ndarray, smoothing: float = 0.1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gamma_p->x [N, U], Gamma_x->x [U, U], Gamma_x->p [U, N] (4.1 step 2)."""
    leave = leave_probability(prototypes, unlabeled, smoothing)
    wander = wander_probability(unlabeled)
    arrive = arrive_probability(prototypes, unlabeled, smoothing)
    return leave, wander, arrive


def landing_matrix(
    prototypes: np.ndarray, unlabeled: np.ndarray, steps: int, smoothing: float = 0.1
) -> np.ndarray:
    """T^(t) = Gamma_p->x (Gamma_x->x)^t Gamma_x->p, t = steps (4.1 step 3); [N, N]."""
    leave = leave_probability(prototypes, unlabeled, smoothing)
    arrive = arrive_probability(prototypes, unlabeled, smoothing)
    wander = wander_probability(unlabeled) if steps else None
    classes, points = leave.shape
    result = np.zeros((classes, classes))
    for j in range(classes):
        position = leave[j]  # [U] where the walker from prototype j stands
        for _ in range(steps):
            moved = np.zeros(points)
            for i in range(points):
                for k in range(points):
                    moved[k] += position[i] * wander[i, k]
            position = moved
        for c in range(classes):
            for i in range(points):
                result[j, c] += position[i] * arrive[i, c]
    return result


def landing_matrix_by_enumeration(
    prototypes: np.ndarray, unlabeled: np.ndarray, steps: int, smoothing: float = 0.1
) -> np.ndarray:
    """T^(t) as the sum of the probabilities of all U^(t+1) paths (4.1 step 3).

    Affordable for few points and steps <= 2 only; [N, N].
    """
    leave = leave_probability(prototypes, unlabeled, smoothing)
    arrive = arrive_probability(prototypes, unlabeled, smoothing)
    wander = wander_probability(unlabeled) if steps else None
    classes, points = leave.shape
    result = np.zeros((classes, classes))
    for start in range(classes):
        for end in range(classes):
            for path in itertools.product(range(points), repeat=steps + 1):
                probability = leave[start, path[0]]
                for here, there in itertools.pairwise(path):
                    probability *= wander[here, there]
                result[start, end] += probability * arrive[path[-1], end]
    return result


def _log_softmax(values: np.ndarray) -> np.ndarray:
    return values - metric.log_sum_exp(values)


def _log_smooth(log_row: np.ndarray, smoothing: float) -> np.ndarray:
    """log((1 - c) exp(log_row) + c / n) for a row of n entries."""
    if smoothing == 0.0:
        return log_row
    uniform = np.log(smoothing / len(log_row))
    return np.array(
        [metric.log_sum_exp([np.log1p(-smoothing) + v, uniform]) for v in log_row]
    )


def walk_losses(
    prototypes: np.ndarray,
    unlabeled: np.ndarray,
    steps: int = 3,
    decay: float = 0.7,
    smoothing: float = 0.1,
) -> tuple[float, float, np.ndarray]:
    """Walker loss, visit loss and mean landing probability (4.1 steps 4, 5; 4.4).

    walker = sum_t decay^t mean_j(-log T^(t)_jj) for t = 0..steps, visit = mean_i(-log
    P_i), landing[t] = mean_j T^(t)_jj of shape [steps + 1]; all in log space.
    """
    classes, points = len(prototypes), len(unlabeled)
    to_point = -metric.squared_distances(prototypes, unlabeled)  # [N, U]
    between = -metric.squared_distances(unlabeled, unlabeled)  # [U, U]

    log_leave = np.zeros((classes, points))
    for j in range(classes):
        log_leave[j] = _log_smooth(_log_softmax(to_point[j]), smoothing)
    log_arrive = np.zeros((points, classes))
    for i in range(points):
        log_arrive[i] = _log_smooth(_log_softmax(to_point[:, i]), smoothing)
    log_wander = np.full((points, points), -np.inf)
    if steps > 0:
        if points < 2:
            raise ValueError(f"wandering needs 2 or more points, got {points}")
        for i in range(points):
            others = [k for k in range(points) if k != i]
            log_wander[i, others] = _log_softmax(between[i, others])

    visit = 0.0
    for i in range(points):
        log_visit = metric.log_sum_exp(log_leave[:, i]) - np.log(classes)
        visit -= log_visit / points

    walker = 0.0
    landing = np.zeros(steps + 1)
    for j in range(classes):
        log_position = log_leave[j]  # [U]
        for t in range(steps + 1):
            log_return = metric.log_sum_exp(log_position + log_arrive[:, j])
            walker -= decay**t * log_return / classes
            landing[t] += np.exp(log_return) / classes
            if t < steps:
                came = [log_position + log_wander[:, k] for k in range(points)]
                log_position = np.array([metric.log_sum_exp(each) for each in came])
    return float(walker), float(visit), landing


def visit_probability(
    prototypes: np.ndarray, unlabeled: np.ndarray, smoothing: float = 0.1
) -> np.ndarray:
    """P_i = (1/N) sum_j Gamma_p->x[j, i], summing to 1 (4.1 step 5); [U]."""
    leave = leave_probability(prototypes, unlabeled, smoothing)
    classes, points = leave.shape
    visit = np.zeros(points)
    for i in range(points):
        for j in range(classes):
            visit[i] += leave[j, i] / classes
    return visit


def success_score(
    prototypes: np.ndarray, unlabeled: np.ndarray, smoothing: float = 0.1
) -> np.ndarray:
    """s_i = sum_c Gamma_p->x[c, i] Gamma_x->p[i, c], the filter's score (5); [U]."""
    leave = leave_probability(prototypes, unlabeled, smoothing)
    arrive = arrive_probability(prototypes, unlabeled, smoothing)
    classes, points = leave.shape
    score = np.zeros(points)
    for i in range(points):
        for c in range(classes):
            score[i] += leave[c, i] * arrive[i, c]
    return score


def keep_above_median(scores: np.ndarray) -> np.ndarray:
    """1 where a score is at least the true median of all scores, else 0 (5, 18-16).

    For an even count the median is the mean of the two middle scores. Fractions do not
    round; [U] -> [U].
    """
    exact = [fractions.Fraction(float(score)) for score in scores]
    ordered, count = sorted(exact), len(exact)
    if count % 2:
        median = ordered[count // 2]
    else:
        median = (ordered[count // 2 - 1] + ordered[count // 2]) / 2
    return np.array([1.0 if score >= median else 0.0 for score in exact])


def walk_losses_with_way_out(
    prototypes: np.ndarray,
    unlabeled: np.ndarray,
    stay: np.ndarray,
    steps: int = 3,
    decay: float = 0.7,
    smoothing: float = 0.1,
) -> tuple[float, float, np.ndarray]:
    """`walk_losses` where the walker at point i stays with probability stay_i.

    Else it is lost. Landing is that of walkers that came back, sum over all paths;
    visits count by stay.
    """
    leave, wander, arrive = transitions(prototypes, unlabeled, smoothing)
    classes, points = leave.shape
    walker, landing = 0.0, np.zeros(steps + 1)
    for t in range(steps + 1):
        for j in range(classes):
            position = leave[j]
            for _ in range(t):
                moved = np.zeros(points)
                for i in range(points):
                    for k in range(points):
                        moved[k] += position[i] * stay[i] * wander[i, k]
                position = moved
            back = np.zeros(classes)
            for i in range(points):
                for c in range(classes):
                    back[c] += position[i] * stay[i] * arrive[i, c]
            home = back[j] / back.sum()
            walker -= decay**t * np.log(home) / classes
            landing[t] += home / classes
    visit = 0.0
    for i in range(points):
        visit -= stay[i] * np.log(leave[:, i].mean()) / stay.sum()
    return float(walker), float(visit), landing
