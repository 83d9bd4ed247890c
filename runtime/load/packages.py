"""Loading of generated packages of others: operators beside those of Gradwright, in a namespace of their own."""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import re
import sys
import warnings

from codegen import extension
from codegen.inputs import INTERFACE, is_current, manifest_text, shown_path
from runtime.base.tensor import Tensor
from runtime.call import registered
from runtime.call.dispatch import Operator
from runtime.load import replacing
from runtime.load.loading import import_generated
from runtime.native import core, debugging, load

COMMAND = "gradwright"
BUILD = "gradwright build"


def install(package: str, namespace: str, interface: int, methods: bool = True) -> None:
    """Put the operators of a generated package into the public API; its `__init__` calls this.

    They are found as `ops.<namespace>.<name>` from then on, those that ask for it also as methods of Tensor. Nothing is
    installed where something stands in the way; a package that is there already stays.

    Args:
        package: the name of the generated package, `mylib._generated`.
        namespace: that of its operators.
        interface: the version of the interface that it was generated for.
        methods: whether there are methods; a whole set of operators of one's own has none, because Tensors have theirs.

    Raises:
        ImportError: it was made for another version of Gradwright or from other YAML; its namespace is another's, or
            one of its methods has the name of a member that Tensors have.
    """
    if interface != INTERFACE:
        raise ImportError(
            f"{package} was generated for interface {interface}, this is interface {INTERFACE} of Gradwright; "
            f"run in its project: {COMMAND}"
        )
    import_generated()  # the operators of Gradwright, beside which these are
    _check_current(package)
    if registered.packages.get(namespace) == package:
        return
    before = registered.definers.get(namespace)
    if before is not None:
        raise ImportError(f"{package} can not define the namespace '{namespace}': {before} has defined it")
    own = importlib.import_module(f"{package}.methods")
    taken = [name for name in own.METHODS if methods and hasattr(Tensor, name)]
    if taken:
        names = ", ".join(f"'{name}'" for name in taken)
        raise ImportError(
            f"{package} declares methods that Tensors have already: {names}; "
            "choose other names, or leave 'method' out of their 'variants'"
        )
    _silence(package)
    if debugging:
        from runtime.load.debugging import check_kernels

        check_kernels(package)
    _take_over(package)
    # From here on nothing can fail.
    registered.definers[namespace] = registered.packages[namespace] = package
    for name, function in own.METHODS.items() if methods else ():
        setattr(Tensor, name, function)


def _take_over(package: str) -> None:
    """Let the package's extension take the common paths, where there is one that was built for this core.

    One that was built from other sources or for another core is never opened; a warning says so, and Python does the
    work.
    """
    if core is None:
        return
    folder = os.path.dirname(sys.modules[package].__file__ or "")
    if not extension.present(folder):
        return
    native = json.loads(manifest_text(folder)).get("native")
    file = extension.current_of_package(folder, core.__file__, native and os.path.join(folder, native))
    reason = "it was built from other sources, or for another core"
    if file is not None:
        try:
            # What the core has is shown to what is loaded behind it, from now on and not before.
            ctypes.CDLL(core.__file__, ctypes.RTLD_GLOBAL | os.RTLD_NOLOAD | os.RTLD_NOW)
            return replacing.take_over(load(file, f"{package}._native"), package)
        except Exception as error:  # of the dynamic loader, of the module itself
            reason = f"{shown_path(file)} can not be loaded: {error}"
    warnings.warn(f"The native operators of {package} are off: {reason}; run in its project: {BUILD}", stacklevel=4)


def _silence(package: str) -> None:
    """Kernels meet zero and infinity without warnings, as Gradwright's own do: the fast path calls them as they are."""
    operators = vars(importlib.import_module(f"{package}.operators")).values()
    kernels = [kernel for each in operators if isinstance(each, Operator) for kernel in each.built_in.values()]
    for module in sorted({kernel.__module__ for kernel in kernels if hasattr(kernel, "__module__")}):
        warnings.filterwarnings("ignore", category=RuntimeWarning, module=re.escape(module))


def _check_current(package: str) -> None:
    """Raise if the YAML lies beside the package and is not what it was made from."""
    folder = os.path.dirname(sys.modules[package].__file__ or "")
    try:
        manifest = manifest_text(folder)
    except OSError:
        raise ImportError(f"there is no manifest in {shown_path(folder)}; run in its project: {COMMAND}") from None
    files = [os.path.join(folder, name) for name in json.loads(manifest).get("yaml", ())]
    if files and all(map(os.path.exists, files)) and not is_current(manifest, files):
        raise ImportError(f"{shown_path(folder)} was made from other YAML; run in its project: {COMMAND}")
