"""Turns a trained run into a SavedModel that TensorFlow alone can serve.

    python -m prwn_tf.export --workdir=runs/omniglot --output=exported/omniglot

Signatures: embed, prototypes, refine, filter, gate and classify, for any number
of images and classes; embed_encoded and classify_encoded take files as they are.
To look at them: saved_model_cli show --all --dir=DIR. The data set need not
be there.
"""

from absl import flags

from prwn_tf import cli, released
from prwn_tf.serving import manifest
from prwn_tf.serving.preprocess import Preprocess
from prwn_tf.training.workdir import Workdir

FLAGS = flags.FLAGS
flags.DEFINE_string(
    "workdir", None, "Folder of the finished run, or a released model.", required=True
)
flags.DEFINE_string(
    "output", None, "Folder to make; an earlier export is replaced.", required=True
)


def main() -> None:
    workdir, output = released.model(cli.path(FLAGS.workdir)), cli.path(FLAGS.output)
    run = Workdir(workdir)
    Preprocess.from_config(run.load_config())
    run.check_finished()
    manifest.check_output(output)

    cli.load_tensorflow()  # takes seconds, so everything is checked first
    from prwn_tf.serving import export

    about = export.export(workdir, output)
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
