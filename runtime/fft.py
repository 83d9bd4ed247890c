"""Operators of PyTorch's `torch.fft`, put here when the generated code is loaded."""
