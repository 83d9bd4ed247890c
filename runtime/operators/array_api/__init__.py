"""Kernels over any arrays that follow the Python array API standard, for backends that take them whole.

The first parameter `xp` is the namespace of the arrays; the others are those of the operator. A function is the kernel
of the operators of its name, `mul` of `mul.Tensor` and `mul.Scalar`, and `max_dim` of `max.dim`; `sum_default` is that
of `sum`, where `sum` itself is a function of Python. None writes to an array.
"""
