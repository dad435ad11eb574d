"""Turns a trained model into a SavedModel that TensorFlow alone can serve.

    python -m prwn_tf.export --workdir=runs/omniglot --output=exported/omniglot
    python -m prwn_tf.export --model=keras:EfficientNetV2B0 --output=exported/photos

Signatures: embed, prototypes, refine, filter, gate and classify, for any number
of images and classes; embed_encoded and classify_encoded take files as they are.
To look at them: saved_model_cli show --all --dir=DIR. The data set need not
be there.
"""

from absl import flags

from prwn_tf import cli, runs
from prwn_tf.cli import define, read
from prwn_tf.serving import manifest, models
from prwn_tf.serving.preprocess import Preprocess
from prwn_tf.training.workdir import Workdir

FLAGS = flags.FLAGS
define.define_source_flags("Folder of the finished run, or a released model.")
flags.DEFINE_string(
    "output", None, "Folder to make; an earlier export is replaced.", required=True
)
flags.adopt_module_key_flags(define)


def main() -> None:
    source, output = read.source(), cli.path(FLAGS.output)
    Preprocess.from_config(runs.config_of(source))
    if isinstance(source, Workdir):
        source.check_finished()
    manifest.check_output(output)

    cli.load_tensorflow()  # takes seconds, so everything is checked first
    from prwn_tf.serving import export

    if isinstance(source, Workdir):
        about = export.export(source.path, output)
    else:
        model = models.open_model(source.encoder, source.backbone.weights)
        about = export.write(model, output)
    size = about["preprocess"]["size"]
    kind = "drawings" if about["preprocess"]["channels"] == 1 else "colour images"
    print(
        f"{about['method']} on {about['dataset']}, step {about['step']}: {kind}, seen "
        f"at {size}x{size}, become {about['embedding_size']} numbers"
    )
    for row in about["accuracy"]:
        print(
            f"{100 * row['accuracy']:.2f} ({row['way']}-way {row['shot']}-shot, "
            f"{row['adapt']})"
        )
    print(f"exported to {output}; to label images with it:")
    print(
        f"python -m prwn_tf.predict --model={output} --support=EXAMPLES "
        "--query=IMAGES --output=LABELS"
    )


if __name__ == "__main__":
    cli.run(main)
