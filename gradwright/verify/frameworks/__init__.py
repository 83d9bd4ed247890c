"""Proofs of what the targets of frameworks emit: operators of PyTorch and JAX against those of the runtime."""
