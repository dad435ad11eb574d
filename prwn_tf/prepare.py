"""Turns raw data into a verified data set that the other programs read.

python -m prwn_tf.prepare --dataset=omniglot --source=omniglot_png.tar.gz
python -m prwn_tf.prepare --dataset=omniglot --verify
"""

import pathlib

from absl import flags

from prwn_tf import cli
from prwn_tf.data import catalog, store

FLAGS = flags.FLAGS
cli.define_data_flags()
flags.DEFINE_enum("dataset", "glyphs", sorted(catalog.BUILDERS), "Data set.")
flags.DEFINE_string(
    "source", None, "Raw files: a folder or an archive. Unset: downloaded or drawn."
)
flags.DEFINE_boolean(
    "verify", False, "Only check what is prepared against the hashes in its manifest."
)
flags.adopt_module_key_flags(cli)


def main() -> None:
    source = pathlib.Path(FLAGS.source).expanduser() if FLAGS.source else None
    directory = catalog.location(FLAGS.dataset, cli.data_dir())
    if not FLAGS.verify:
        cli.load_tensorflow()  # decodes images
        catalog.prepare(FLAGS.dataset, cli.data_dir(), source)
    store.verify(directory)
    splits = ", ".join(
        f"{split} {len(part.names)} classes of {len(part)} images"
        for split, part in store.open_dataset(directory).items()
    )
    print(f"{FLAGS.dataset} is prepared and verified in {directory}: {splits}")


if __name__ == "__main__":
    cli.run(main)
