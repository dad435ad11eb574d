"""From a config to the model that it describes, ready to be trained or restored."""

import dataclasses
import functools
import logging

import keras
import tensorflow as tf

from prwn_tf import methods, precision
from prwn_tf.config import OptimizerConfig, TrainConfig
from prwn_tf.encoders.policy import keras_as_it_comes, policy_of, policy_scope
from prwn_tf.errors import UserError, first_line
from prwn_tf.model import FewShotModel


def build_model(config: TrainConfig) -> FewShotModel:
    """Returns the untrained model of a config, its variables created."""
    methods.check(config)
    with keras_as_it_comes():
        with policy_scope(policy_of(config.precision)):
            encoder = methods.encoder_class(config).from_config(config)
        model = FewShotModel(
            encoder,
            methods.head_class(config).from_config(config),
            [methods.term_class(name).from_config(config) for name in config.terms],
            resplits=config.resplits,
            seed=config.seed,
        )
        model.build((None, *config.image_shape))
    return model


def trainable_model(config: TrainConfig) -> FewShotModel:
    """Returns the model of a config with its optimizers, all variables in place."""
    model = build_model(config)
    if not model.trainable_variables:
        raise UserError(
            "nothing is left to train: --encoder_trainable=none freezes "
            f"{config.encoder}, and the head of --method={config.method} has no "
            "weights; train its last:2 layers, or test it as it is with python -m "
            f"prwn_tf.evaluate --model={config.encoder}"
        )
    with keras_as_it_comes():
        model.compile(optimizer=_scaled(build_optimizer(config.optimizer), config))
        if own := _head_optimizer(model, config):
            model.head_optimizer = _scaled(build_optimizer(own), config)
        for player in model.players:
            player.optimizer = _scaled(player.optimizer, config)
        model.build_optimizers()
    return model


def _head_optimizer(model: FewShotModel, config: TrainConfig) -> OptimizerConfig | None:
    """Returns how the head's variables are moved, if not as all others are."""
    factor = model.head.rate_factor
    if factor == 1:
        return None
    rate = factor * config.optimizer.learning_rate
    return dataclasses.replace(config.optimizer, learning_rate=rate)


def count_episodes(model: FewShotModel, config: TrainConfig) -> tf.Variable:
    """Returns a counter of episodes, by which the rates of a model fall from now on.

    Keras lets them fall with updates, of which several replicas make one for several
    episodes.
    """
    counter = tf.Variable(0, dtype=tf.int64, trainable=False)
    moved = [(model.optimizer, config.optimizer)]
    if own := _head_optimizer(model, config):
        moved.append((model.head_optimizer, own))
    for optimizer, settings in moved:
        rate = _rate(settings)
        if callable(rate):
            optimizer.learning_rate = functools.partial(rate, counter)
    return counter


def build_optimizer(config: OptimizerConfig) -> keras.optimizers.Optimizer:
    """Returns Adam or SGD, whose rate follows the schedule of a config."""
    rate = _rate(config)
    if config.kind == "sgd":
        return keras.optimizers.SGD(rate, momentum=config.momentum, nesterov=True)
    return keras.optimizers.Adam(
        rate,
        beta_1=config.beta_1,
        beta_2=config.beta_2,
        epsilon=config.epsilon,
    )


def _rate(
    config: OptimizerConfig,
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """Returns the rate, or how it falls from step to step."""
    schedules, rate = keras.optimizers.schedules, config.learning_rate
    if config.cosine_steps:
        return schedules.CosineDecay(rate, config.cosine_steps)
    if config.halve_at:
        return schedules.PiecewiseConstantDecay(
            # Keras keeps the old rate at the boundary itself.
            [step - 1 for step in config.halve_at],
            [rate * config.rate_factor**k for k in range(len(config.halve_at) + 1)],
        )
    return rate


def _scaled(
    optimizer: keras.optimizers.Optimizer, config: TrainConfig
) -> keras.optimizers.Optimizer:
    """Returns an optimizer that scales losses where gradients would underflow.

    A step whose gradients overflow moves nothing and halves the scale. Such steps
    count as episodes, by which rates fall.
    """
    if config.precision != "float16":
        return optimizer
    return keras.optimizers.LossScaleOptimizer(optimizer)


def resolved(config: TrainConfig, replicas: int = 1) -> TrainConfig:
    """Returns the config with what "auto" means on this machine's devices."""
    gpu = bool(tf.config.list_physical_devices("GPU"))
    # XLA's convolutions on a CPU take twice as long as TensorFlow's own.
    choices = {
        "xla": "step" if gpu and replicas == 1 and not config.deterministic else "off",
        "conv_block": "plain" if gpu or config.precision == "float16" else "fast",
    }
    automatic = {k: v for k, v in choices.items() if getattr(config, k) == "auto"}
    config = dataclasses.replace(config, **automatic)
    if config.xla != "off" and (reason := _compiler_error()):
        logging.warning("--xla=%s is not possible here: %s", config.xla, reason)
        config = dataclasses.replace(config, xla="off")
    if not gpu and (reason := precision.slow_on_cpu(config.precision)):
        logging.warning(
            "--precision=%s will train many times slower than float32 here: %s",
            config.precision,
            reason,
        )
    return config


def set_determinism(config: TrainConfig) -> None:
    """Makes all operations of this process deterministic, if a config asks for it."""
    if config.deterministic:
        keras.utils.set_random_seed(config.seed)
        tf.config.experimental.enable_op_determinism()


@functools.cache
def _compiler_error() -> str | None:
    """Returns why XLA cannot compile here, if so: a GPU needs parts of CUDA."""
    try:
        tiny = tf.function(lambda x: x + 1, jit_compile=True, autograph=False)
        tiny(tf.constant(1.0))
    except tf.errors.OpError as error:
        return first_line(error)
    return None
