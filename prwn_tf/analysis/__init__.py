"""The analyses of the paper: what a trained run does, as numbers and figures."""
