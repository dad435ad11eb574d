"""Which images make an episode (plan), and their pixels (pipeline)."""
