"""Sparse Tensors in the layout `sparse_coo`: parts by their places. Loaded when the first one is made."""

from __future__ import annotations

from runtime.operators.sparse import construct as construct
from runtime.operators.sparse import coordinates as coordinates
from runtime.operators.sparse import dispatch
from runtime.operators.sparse import methods as methods
from runtime.operators.sparse.construct import of_rows as of_rows
from runtime.operators.sparse.construct import spdiags
from runtime.operators.sparse.invariants import check_sparse_tensor_invariants
from runtime.operators.sparse.products import addmm, mm, sum
from runtime.operators.sparse.softmax import log_softmax, softmax
from runtime.operators.sparse.tensor import KEY as KEY
from runtime.operators.sparse.tensor import SparseTensor as SparseTensor

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "spdiags", "sum"]

dispatch.install()
methods.install()
