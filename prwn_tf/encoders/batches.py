"""How many images are best embedded at once."""

PIXELS = 256 * 28 * 28  # small enough for what a block writes to stay in a CPU's cache


def images_at_once(height: int, width: int) -> int:
    """Returns the images of a batch, where nothing else decides: at least one."""
    return max(1, PIXELS // (height * width))
