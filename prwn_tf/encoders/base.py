"""What every encoder of a config is."""

import keras

from prwn_tf.config import TrainConfig
from prwn_tf.remembered import Remembered
from prwn_tf.settings import EncoderPart


class Encoder(Remembered, keras.Model):
    """Turns images into embeddings: [B, H, W, C] -> [B, D].

    Pixels are numbers from 0 to 1, whatever the data set; an encoder that wants another
    range changes them itself, so that an export carries the change.

    Attributes:
        Config: its settings, and the smallest image that it can embed.
        feature_shape: height, width and channels of what is flattened to D numbers;
            known once it is built.
    """

    Config: type[EncoderPart] = EncoderPart
    feature_shape: tuple[int, int, int]

    @classmethod
    def from_config(cls, config: TrainConfig) -> "Encoder":
        """Returns the untrained encoder that a config asks for."""
        del config
        return cls()

    def initialize(self) -> None:
        """Loads the weights that a run begins with, where they are not drawn.

        It is called once it is built, and not if the weights come from a checkpoint.
        """

    def adopt(self, temperature: float) -> None:
        """Changes weights of another run's encoder as the settings of this run ask.

        It is called once they are read (`--init_from`).

        Args:
            temperature: `Origin.temperature` of that run.
        """
