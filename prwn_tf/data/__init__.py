"""Bytes on disk -> ClassStore: class-sorted uint8 images of each split."""
