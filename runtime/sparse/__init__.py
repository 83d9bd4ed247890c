"""Sparse Tensors in the layout `sparse_coo`: parts by their places. Loaded when the first one is made."""

from __future__ import annotations

from runtime.sparse import construct as construct
from runtime.sparse import coordinates as coordinates
from runtime.sparse import dispatch
from runtime.sparse import methods as methods
from runtime.sparse.construct import of_rows as of_rows
from runtime.sparse.construct import spdiags
from runtime.sparse.invariants import check_sparse_tensor_invariants
from runtime.sparse.products import addmm, mm, sum
from runtime.sparse.softmax import log_softmax, softmax
from runtime.sparse.tensor import KEY as KEY
from runtime.sparse.tensor import SparseTensor as SparseTensor

__all__ = ["addmm", "check_sparse_tensor_invariants", "log_softmax", "mm", "softmax", "spdiags", "sum"]

dispatch.install()
methods.install()
