"""The device `cuda` for Gradwright, by CuPy: `import gradwright_cupy`, then `x.to("cuda")`.

Without CuPy or a GPU the import changes nothing: `gradwright.cuda.is_available()` stays False, and `why_unavailable()`
says why.
"""

from gradwright_cupy.availability import why_unavailable

__all__ = ["why_unavailable"]

if why_unavailable() is None:
    from gradwright_cupy import _generated as _generated  # registers the device
    from gradwright_cupy import cuda

    cuda.install()
