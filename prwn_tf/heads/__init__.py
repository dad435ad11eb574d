"""Embeddings of an episode -> class scores of its queries, one file a family."""
