"""How a program loads TensorFlow."""

from tests.children import child

CODE = """
import gc
from prwn_tf import cli
cli.load_tensorflow()
assert gc.isenabled()
assert gc.get_freeze_count() > 100_000, gc.get_freeze_count()
"""


def test_the_garbage_collector_passes_over_tensorflow():
    child.run("-c", CODE, check=True)
