"""Kernels on CuPy's arrays, beside those over the array API standard."""
