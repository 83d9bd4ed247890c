"""The target `torch`: the operators of a package as those of PyTorch."""
