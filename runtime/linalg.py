"""Operators of PyTorch's `torch.linalg`, put here when the generated code is loaded."""
