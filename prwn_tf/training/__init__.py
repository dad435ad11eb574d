"""The training loop and what it keeps in the workdir."""
