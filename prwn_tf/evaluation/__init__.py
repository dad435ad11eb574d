"""Embed a split once, then score any number of episodes from the embeddings."""
