"""The data sets by name: each is drawn, or described as an import of files."""
