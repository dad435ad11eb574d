r"""Labels a folder of images from a few examples of each class.

    python -m prwn_tf.predict --model=omniglot-prwn \
        --support=examples/ --query=images/ --unlabeled=more/ --output=found/
    python -m prwn_tf.predict --model=photos-resnet \
        --support=examples/ --query=photographs/ --output=found/
    python -m prwn_tf.predict --model=omniglot-prwn --classes=found/classes.npz \
        --query=one.jpg

--support has a folder of images for each class, one image at least. --query
may hold images in any folders, or be one image: without --output, its label is
printed and nothing is written. --unlabeled makes the answers better: the classes
move towards those of its images that belong to them, and the others, among them
what shows none of the classes, are set aside.
--output gets predictions.csv, unlabeled.csv, gallery.html to look at in a browser, and
classes.npz, which --classes takes the next time instead of examples. In the
tables, names that a spreadsheet would take for formulas have a ' before them.
"""

import pathlib
from collections import Counter
from typing import TYPE_CHECKING

from absl import flags

from prwn_tf import backbones, cli, files, released
from prwn_tf.cli import define
from prwn_tf.config import ADAPTATIONS
from prwn_tf.errors import UserError
from prwn_tf.evaluation.calibration import AUTO
from prwn_tf.serving import folders, models

if TYPE_CHECKING:
    from prwn_tf.serving.predictions import Predictions

FLAGS = flags.FLAGS
MAX_CLASSES, MAX_PROBLEMS = 10, 5  # named at the terminal
flags.DEFINE_string(
    "model",
    None,
    "Folder of an exported model or of a finished run, a released model: "
    f"{', '.join(released.MODELS)}, or a network of Keras that needs no training: "
    "keras:NAME or keras_hub:PRESET.",
    required=True,
)
define.define_weights_flag()
flags.DEFINE_string("support", None, "Folder with a folder of examples for each class.")
flags.DEFINE_string(
    "support_table",
    None,
    "csv file with the columns file and label, as the gallery's corrected.csv, instead "
    "of a folder for each class. Names of files start from --support, or from the "
    "table's own folder; files without a label are left out.",
)
flags.DEFINE_string(
    "classes",
    None,
    "classes.npz in the --output of an earlier call with the same model, instead of "
    "--support and --unlabeled. With --support, its classes are added to those.",
)
flags.DEFINE_string(
    "query", None, "Folder of images to label, or one image.", required=True
)
flags.DEFINE_string("unlabeled", None, "Folder of further images, to learn from.")
flags.DEFINE_string(
    "output", None, "Folder for the results; of one image the label is printed."
)
flags.DEFINE_enum(
    "adapt",
    None,
    (*ADAPTATIONS, AUTO),
    "What --unlabeled does: nothing, move the classes towards all of its images, "
    "towards those that the walk trusts (filter), or towards those that are nearer to "
    "a class than a stranger would be (gate). Default: auto, what did best on the "
    "model's validation classes, or gate if it has none.",
)
flags.adopt_module_key_flags(define)


def main() -> None:
    source = model_source()
    models.check(*source)
    check_source()
    support = examples()
    query = folders.images(cli.path(FLAGS.query), "query")
    unlabeled = None
    if FLAGS.unlabeled is not None:
        unlabeled = folders.images(cli.path(FLAGS.unlabeled), "unlabeled")
    elif FLAGS.adapt not in (None, "none", AUTO):
        raise UserError(
            f"--adapt={FLAGS.adapt} learns from unlabelled images; give a folder of "
            "them as --unlabeled, or leave it out"
        )
    output = output_folder()

    cli.load_tensorflow()  # takes seconds, so everything is checked first
    from prwn_tf.serving import predictions
    from prwn_tf.serving.gallery import page

    model = models.open_model(*source)
    if output is not None:
        print(describe(model))
    if FLAGS.classes is not None:
        learned = cli.path(FLAGS.classes)
        made = predictions.predict_again(learned, model, query, support)
    else:
        made = predictions.predict(model, support, query, unlabeled, FLAGS.adapt)
    if output is None:
        print(label_of_one(made))
        return
    made.write(output)
    page.write(output / "gallery.html", made, model, f"Predictions for {query.title}")
    print("\n".join(summary(made, query)))
    print(
        f"labels are in {output / 'predictions.csv'}; look at {output / 'gallery.html'}"
    )


def model_source() -> tuple[pathlib.Path | str, str]:
    """Returns the folder of a model, or a network of Keras, and its weights."""
    weights = FLAGS.encoder_weights or backbones.IMAGENET
    if backbones.is_backbone(FLAGS.model):
        return FLAGS.model, weights
    if FLAGS.encoder_weights is not None:
        raise UserError(
            "--encoder_weights has no effect here: it belongs to --model=keras:NAME; "
            "leave it out"
        )
    return released.model(cli.path(FLAGS.model)), weights


def examples() -> dict[str, list[str]] | None:
    """Returns the examples of each class, by folders or by a table: class -> paths."""
    folder = None if FLAGS.support is None else cli.path(FLAGS.support)
    least = 2 if FLAGS.classes is None else 1
    if FLAGS.support_table is not None:
        return folders.labelled(cli.path(FLAGS.support_table), folder, least)
    return None if folder is None else folders.support(folder, least)


def check_source() -> None:
    """Raises unless it is said where the classes come from."""
    if FLAGS.support is None and FLAGS.support_table is None and FLAGS.classes is None:
        raise UserError(
            "the classes to tell apart are given as --support, a folder of examples "
            "for each, as --classes, what an earlier call learned, or as both, to add "
            "classes to those; give one of them"
        )
    if FLAGS.classes is not None and FLAGS.unlabeled is not None:
        raise UserError(
            f"--classes={FLAGS.classes} was learned with its unlabelled images; leave "
            "out --unlabeled, or learn anew with --support"
        )
    if FLAGS.classes is not None and FLAGS.adapt is not None:
        raise UserError(
            f"--adapt={FLAGS.adapt} says what --unlabeled does, and --classes="
            f"{FLAGS.classes} was learned before; leave it out"
        )


def output_folder() -> pathlib.Path | None:
    """Returns where the results go; None if one label is to be printed."""
    if FLAGS.output is None:
        if not cli.path(FLAGS.query).is_file():
            raise UserError(
                f"--query={FLAGS.query} is a folder, whose labels go to another; give "
                "an --output, or one image as --query"
            )
        return None
    output = cli.path(FLAGS.output)
    for flag in ("support", "query", "unlabeled"):
        if FLAGS[flag].value is not None:
            folders.check_outside(output, cli.path(FLAGS[flag].value), flag)
    files.check_writable(output)
    return output


def label_of_one(predictions: "Predictions") -> str:
    """Returns what one image is, in a line."""
    [prediction] = predictions.queries
    return prediction.line()


def describe(model: models.ServedModel) -> str:
    """Returns a line or two about the model that is about to run."""
    about = model.about
    text = (
        f"model {model.path}: {about.get('method')} trained on {about.get('dataset')}, "
        f"sha256 {model.fingerprint[:16]}"
    )
    if model.preprocess.drawings:
        text += "\nit knows drawings; --model=photos-resnet knows photographs"
    return text


def summary(predictions: "Predictions", query: folders.ImageFolder) -> list[str]:
    """Returns what came of it, in lines for the reader at the terminal."""
    taught = list(filter(None, predictions.support.values()))
    known = len(predictions.support) - len(taught)
    origin = [f"{known} classes learned before"] * bool(known)
    if taught:
        classes = f"{len(taught)} class{'es' * (len(taught) > 1)}"
        origin.append(f"{classes} from {_many(sum(map(len, taught)), 'example')}")
    lines = [" and ".join(origin)]
    if predictions.unlabeled:
        moved, total = len(predictions.trusted), len(predictions.unlabeled)
        lines.append(
            f"{_many(total, 'unlabelled image')}, {moved} of which moved the classes "
            f"(--adapt={predictions.adapt})"
        )
    counts = Counter(each.label for each in predictions.queries if not each.problem)
    common = counts.most_common(MAX_CLASSES)
    listed = ", ".join(f"{name} {number}" for name, number in common)
    more = len(counts) - len(common)
    rest = f" and {more} classes more" if more else ""
    lines.append(f"{_many(counts.total(), 'image')} labelled: {listed}{rest}")
    lines.append(novelty_line(predictions))
    if query.others:
        lines.append(
            f"{len(query.others)} files passed over that are no images, such as "
            f"{query.name(query.others[0])}"
        )
    lines += [
        f"{each.file} {each.problem}, so it has no label"
        for each in predictions.problems[:MAX_PROBLEMS]
    ]
    if (more := len(predictions.problems) - MAX_PROBLEMS) > 0:
        lines.append(f"{more} more images could not be used")
    return lines


def _many(count: int, what: str) -> str:
    """Returns a number of things, one of which has no s."""
    return f"{count:,} {what}{'s' * (count != 1)}"


def novelty_line(predictions: "Predictions") -> str:
    """Returns how many images are probably of none of the classes."""
    if reason := predictions.classifier.unsaid():
        return reason
    threshold = predictions.classifier.threshold_
    novel = sum(each.novel for each in predictions.queries)
    return (
        f"{novel} of them probably none of the classes\n(none_of_these above "
        f"{threshold:.3g}, as 5 % of the classes' own images are)"
    )


if __name__ == "__main__":
    cli.run(main)
