"""Tensor methods written by hand, beside those that are generated."""
