"""What has to be known of a data set where its trained models are used."""

from prwn_tf.data.sets import omniglot, toy

# Data sets of points in the plane, not of images.
POINTS = frozenset(toy.NAMES)
# Data sets whose classes are ImageNet's.
FROM_IMAGENET = frozenset({"mini", "tiered"})
# Data set -> the side in pixels that all its images had before they were prepared.
SHRUNK_FROM = {"omniglot": omniglot.DRAWN_SIZE}
