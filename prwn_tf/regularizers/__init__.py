"""Extra loss terms on an episode, one file each."""
