"""Adam on the paper's schedule."""

import keras

from prwn_tf import methods
from prwn_tf.config import OptimizerConfig, TrainConfig
from prwn_tf.model import FewShotModel


def trainable_model(config: TrainConfig) -> FewShotModel:
    """The model of a config with its optimizer, all variables in place."""
    model = methods.build_model(config)
    model.compile(optimizer=build_optimizer(config.optimizer))
    model.optimizer.build(model.trainable_variables)
    return model


def build_optimizer(config: OptimizerConfig) -> keras.optimizers.Optimizer:
    """Adam whose rate is halved at the given steps."""
    rate = config.learning_rate
    if config.halve_at:
        rate = keras.optimizers.schedules.PiecewiseConstantDecay(
            # Keras keeps the old rate at the boundary itself.
            [step - 1 for step in config.halve_at],
            [rate / 2**halvings for halvings in range(len(config.halve_at) + 1)],
        )
    return keras.optimizers.Adam(
        rate,
        beta_1=config.beta_1,
        beta_2=config.beta_2,
        epsilon=config.epsilon,
    )
