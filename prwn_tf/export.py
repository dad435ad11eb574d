r"""Turns a trained model into a SavedModel that TensorFlow alone can serve.

    python -m prwn_tf.export --workdir=runs/omniglot --output=exported/omniglot
    python -m prwn_tf.export --model=keras:EfficientNetV2B0 --output=exported/photos
    python -m prwn_tf.export --workdir=omniglot-prwn --classes=labels/classes.npz \
        --output=served/things/1
    python -m prwn_tf.export --workdir=omniglot-prwn --format=litert \
        --representative=images/ --output=phone/

Signatures: embed, prototypes, refine, filter, gate and classify, for any number
of images and classes; embed_encoded and classify_encoded take files as they are.
With --classes, serving_default answers files with names of these classes.
To look at them: saved_model_cli show --all --dir=DIR. The data set need not
be there. LiteRT and ONNX files hold the network alone: images of its size to
embeddings.
"""

import pathlib
from typing import TYPE_CHECKING, Any

from absl import flags

from prwn_tf import cli, runs
from prwn_tf.cli import define, read
from prwn_tf.errors import UserError
from prwn_tf.serving import folders, manifest, models, quantized
from prwn_tf.serving.preprocess import Preprocess
from prwn_tf.training.workdir import Workdir

if TYPE_CHECKING:
    from prwn_tf.serving.export import Draft

MAX_CLASSES = 10  # named at the terminal
UNCALIBRATED = (
    "the model is uncalibrated: its probabilities mean little, and it cannot tell what "
    "is none of the classes; python -m prwn_tf.evaluate --calibrate changes that"
)
FLAGS = flags.FLAGS
# Format -> the flags that apply to it.
FORMATS = {
    "saved_model": ("classes",),
    "litert": ("batch", "representative"),
    "onnx": ("batch",),
}
define.define_source_flags("Folder of the finished run, or a released model.")
flags.DEFINE_string(
    "output", None, "Folder to make; an earlier export is replaced.", required=True
)
flags.DEFINE_string(
    "classes",
    None,
    "Classes that the model is to tell apart: classes.npz in the --output of predict "
    "with the same model. For saved_model.",
)
flags.DEFINE_enum(
    "format",
    "saved_model",
    list(FORMATS),
    "What to write: a SavedModel, or the network for LiteRT or ONNX.",
)
flags.DEFINE_integer(
    "batch", None, "Images at once; default: 1. For litert and onnx.", lower_bound=1
)
flags.DEFINE_string(
    "representative",
    None,
    "Folder of images like those to come, which makes model_int8.tflite beside "
    "model.tflite. For litert.",
)
define.define_data_flags()
flags.adopt_module_key_flags(define)


def main() -> None:
    source, output = read.source(), cli.path(FLAGS.output)
    Preprocess.from_config(runs.config_of(source))
    if isinstance(source, Workdir):
        source.check_finished()
    check_format()
    manifest.check_output(output)

    cli.load_tensorflow()  # takes seconds, so everything is checked first
    from prwn_tf.serving import export

    draft = make_draft(source)
    if isinstance(source, Workdir):
        about = export.export(source.path, output, draft)
    else:
        model = models.open_model(source.encoder, source.backbone.weights)
        about = export.write(model, output, draft)
    print("\n".join(summary(about, output)))


def check_format() -> None:
    """Raises if a flag was given that does not apply to the format."""
    for name in {name for names in FORMATS.values() for name in names}:
        if FLAGS[name].value is not None and name not in FORMATS[FLAGS.format]:
            fitting = [each for each, names in FORMATS.items() if name in names]
            raise UserError(
                f"--{name} does not apply to --format={FLAGS.format}, only to "
                f"{' and '.join(fitting)}; leave it out"
            )
    if FLAGS.classes is not None and not cli.path(FLAGS.classes).is_file():
        raise UserError(
            f"--classes={FLAGS.classes} is not a file; give classes.npz in the "
            "--output of predict"
        )
    if FLAGS.representative is not None:
        folders.images(cli.path(FLAGS.representative), "representative")


def make_draft(source: runs.Source) -> "Draft":
    """Returns what writes the files that were asked for."""
    from prwn_tf.serving import converting, export

    batch = FLAGS.batch or 1
    if FLAGS.format == "onnx":
        return converting.onnx(batch)
    if FLAGS.format == "litert":
        images = FLAGS.representative and cli.path(FLAGS.representative)
        compare = quantized.comparison(source, cli.data_dir())
        return converting.litert(batch, images, compare)
    return export.saved_model(FLAGS.classes and cli.path(FLAGS.classes))


def _crowd(row: dict[str, Any]) -> str:
    """Returns what else was among the unlabelled images of a test."""
    distractors = row.get("distractors", 0)
    return f", {distractors} distractor classes" if distractors else ""


def summary(about: dict[str, Any], output: pathlib.Path) -> list[str]:
    """Returns what was written, in lines for the reader at the terminal."""
    size = about["preprocess"]["size"]
    kind = "drawings" if about["preprocess"]["channels"] == 1 else "colour images"
    lines = [
        f"{about['method']} on {about['dataset']}, step {about['step']}: {kind}, seen "
        f"at {size}x{size}, become {about['embedding_size']} numbers"
    ]
    lines += [
        f"{100 * row['accuracy']:.2f} ({row['way']}-way {row['shot']}-shot, "
        f"{row['adapt']}{_crowd(row)})"
        for row in about["accuracy"]
    ]
    if FLAGS.format != "saved_model":
        return [*lines, *conversion_lines(about), f"exported to {output}"]
    if names := about.get("classes"):
        return [
            *lines,
            f"{len(names)} classes: {', '.join(names[:MAX_CLASSES])}"
            + " ..." * (len(names) > MAX_CLASSES),
            *[UNCALIBRATED] * (about["calibration"] is None),
            f"exported to {output}; what it takes and answers:",
            f"saved_model_cli show --dir={output} --tag_set=serve "
            "--signature_def=serving_default",
        ]
    return [
        *lines,
        f"exported to {output}; to label images with it:",
        f"python -m prwn_tf.predict --model={output} --support=EXAMPLES "
        "--query=IMAGES --output=LABELS",
    ]


def conversion_lines(about: dict[str, Any]) -> list[str]:
    """Returns what a network for other runtimes takes, and how it compares."""
    size, channels = about["preprocess"]["size"], about["preprocess"]["channels"]
    ink = ", bright ink on black" if channels == 1 else ", red, green, blue"
    lines = [
        f"images: float32 [{about['batch']}, {size}, {size}, {channels}], 0 to 255"
        f"{ink}",
        f"verified: embeddings differ by {about['error']:.1g} of their greatest number",
    ]
    if "int8_error" in about:
        lines.append(f"int8: embeddings differ by {about['int8_error']:.1g} of it")
    measured = about.get("int8")
    if measured:
        before, after = (100 * measured[name] for name in ("before", "after"))
        lines.append(
            f"int8: {after:.2f} where float32 has {before:.2f} ({measured['dataset']}, "
            f"test classes, {measured['way']}-way {quantized.SHOT}-shot, the same "
            f"{quantized.EPISODES:,} episodes)"
        )
    elif measured is not None:
        lines.append(
            f"int8: not measured, without its own test classes of {about['dataset']} "
            f"in {cli.data_dir()}"
        )
    return lines


if __name__ == "__main__":
    cli.run(main)
