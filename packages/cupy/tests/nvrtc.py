"""CUDA's own compiler, from the wheel nvidia-cuda-nvrtc: it needs neither a GPU nor a driver."""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Sequence
from pathlib import Path


def library() -> Path | None:
    """The library of the installed wheel; None without one."""
    try:
        found = importlib.util.find_spec("nvidia.cuda_nvrtc") or importlib.util.find_spec("nvidia.cu13")
    except ModuleNotFoundError:
        return None
    folders = [] if found is None else list(found.submodule_search_locations or ())
    names = [path for folder in folders for path in sorted(Path(folder, "lib").glob("libnvrtc.so.*"))]
    return names[0] if names else None


def compile_for(architecture: str, text: str, names: Sequence[str]) -> str:
    """The PTX of kernels.

    Args:
        architecture: such as "compute_80".
        text: CUDA C++.
        names: expressions that name the kernels.

    Raises:
        AssertionError: it does not compile; with what the compiler said.
    """
    path = library()
    assert path is not None
    nvrtc = ctypes.CDLL(str(path))
    program = ctypes.c_void_p()
    assert not nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernels.cu", 0, None, None)
    for name in names:
        assert not nvrtc.nvrtcAddNameExpression(program, name.encode()), name
    options = [f"--gpu-architecture={architecture}".encode(), b"-std=c++17"]
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    if failed:
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        raise AssertionError(log.value.decode())
    lowered = ctypes.c_char_p()
    for name in names:
        assert not nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered)), name
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size))
    ptx = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return ptx.value.decode()
