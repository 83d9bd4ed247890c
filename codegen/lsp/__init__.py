"""`gradwright lsp`: what an editor asks about the YAML, kernels and helpers of a project."""
