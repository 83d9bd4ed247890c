"""Calls of operators for whole batches: BatchedTensors, the rules by which operators are called on them, and vmap."""
