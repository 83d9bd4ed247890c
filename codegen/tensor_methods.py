"""The methods of Tensor that are no operators."""

from __future__ import annotations

# fmt: off
TENSOR_METHODS = frozenset((
    "apply_", "as_subclass", "backward", "bfloat16", "bool", "byte", "ccol_indices", "cdouble", "cfloat", "chalf",
    "char", "coalesce", "col_indices", "const_data_ptr", "cpu", "crow_indices", "cuda", "data_ptr", "dense_dim",
    "dequantize", "detach_", "dim", "dim_order", "double", "eig", "element_size", "float", "get_device", "half",
    "indices", "int", "ipu", "is_coalesced", "is_complex", "is_conj", "is_contiguous", "is_distributed",
    "is_floating_point", "is_inference", "is_neg", "is_pinned", "is_set_to", "is_shared", "is_signed", "item", "long",
    "lstsq", "lu", "map2_", "map_", "module_load", "mtia", "ndimension", "nelement", "new", "new_tensor", "numel",
    "numpy", "pin_memory", "register_hook", "register_post_accumulate_grad_hook", "reinforce", "requires_grad_",
    "resize", "resize_", "resize_as", "resize_as_", "resize_as_sparse_", "retain_grad", "row_indices", "set_",
    "share_memory_", "short", "size", "smm", "solve", "sparse_dim", "sparse_mask", "sparse_resize_",
    "sparse_resize_and_clear_", "sspaddmm", "storage", "storage_offset", "storage_type", "stride", "symeig",
    "to_dense", "to_sparse", "to_sparse_coo", "tolist", "type", "unique", "untyped_storage", "values", "xpu",
))
# fmt: on
