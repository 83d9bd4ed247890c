"""Operators of PyTorch's `torch.special`, put here when the generated code is loaded."""
