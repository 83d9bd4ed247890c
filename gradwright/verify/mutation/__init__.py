"""The checker checked: formulas and helpers with one mistake each, which proofs have to refute.

R. A. DeMillo, R. J. Lipton, F. G. Sayward, "Hints on test data selection: help for the practicing programmer", Computer
11, 1978.
"""
