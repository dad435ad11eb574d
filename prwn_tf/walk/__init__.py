"""The paper's random walk as pure functions of tensors."""
