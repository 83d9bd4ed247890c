"""Calls of operators: binding of arguments, choice of overloads and kernels, the one general path."""
