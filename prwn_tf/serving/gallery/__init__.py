"""What `predict` found, as one page that a browser shows without any network."""
