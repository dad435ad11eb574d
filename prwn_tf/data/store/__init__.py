"""A prepared data set on disk: written, completed after a kill, read, described."""
