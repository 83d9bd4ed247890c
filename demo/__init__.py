"""The whole idea on real data: `python -m demo` generates, checks every operator, and trains a classifier."""
