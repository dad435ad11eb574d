"""How far apart embeddings are at the start, so that a softmax can use distances.

Squared distances are sums over D numbers that batch norm makes alike, so they grow with
D; those of a trained classifier are as large as its training made them. A last batch
norm of another scale mends both: what follows it, ReLU and pooling, passes that on.
"""

import math
from collections.abc import Iterable

import keras

EVEN_SIZE = 64  # D at which a scale of 1 starts with distances that a softmax can use


def at_start(scale: float, size: int) -> float:
    """Returns the scale of the last batch norms at the start.

    Args:
        scale: what is asked for; 0 for the one at which squared distances start alike
            for any D.
        size: D, the numbers of an embedding.
    """
    return scale or math.sqrt(EVEN_SIZE / size)


def multiply_trained(
    norms: Iterable[keras.layers.BatchNormalization], scale: float, temperature: float
) -> None:
    """Multiplies the embeddings of a trained encoder, by its last batch norms.

    Args:
        norms: those whose sum or output alone reaches the embedding.
        scale: the factor; 0 for one that divides squared distances by `temperature`,
            where they are too large.
    """
    factor = scale or max(temperature, 1.0) ** -0.5
    for norm in norms:
        for variable in (norm.gamma, norm.beta):
            variable.assign(variable * factor)
