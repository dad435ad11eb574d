"""Images -> embeddings: [B, H, W, C] -> [B, D]."""
