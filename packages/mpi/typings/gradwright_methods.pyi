"""The methods that packages add to Tensor, for type checkers: name those of other packages in the same way."""

from gradwright_mpi._generated._methods import TensorMethods as _Ofgradwright_mpi

class OfPackages(_Ofgradwright_mpi): ...
