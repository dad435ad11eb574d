"""What came of `predict`, as one page that a browser shows without any network."""
