"""The file of a backend: which operators have kernels for a dispatch key, in the format of PyTorch's external backends.

    backend: NPU
    supported:
    - add.Tensor
    - mm: fast_mm

Gradwright's own keys say where the arrays and the kernels are: `device`, `arrays`, `kernels`, `array_api`,
`elementwise`; and with `lax`, which is for files of others, what is listed and can not have a kernel is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import yaml

from codegen.codes import Code
from codegen.read.values import Values
from codegen.read.yaml_text import Fields, YamlFile
from codegen.source import Diagnostics, SourceFile, Span, Text
from codegen.words import did_you_mean

# PyTorch's keys that say how C++ is made; there is none here.
_OF_CPP = (
    "cpp_namespace", "class_name", "extra_headers", "use_out_as_primary", "device_guard", "symint", "ir_gen",
    "non_native",
)  # fmt: skip
# The lists of operators that have kernels: PyTorch's generator writes some itself, and takes them like the others.
_LISTS = ("supported", "full_codegen")
KEYS = ("backend", *_LISTS, "autograd", "device", "arrays", "kernels", "array_api", "elementwise", "lax", *_OF_CPP)
_DEVICE = re.compile(r"[a-z][a-z0-9_]*")
_MODULE = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Supported:
    """An operator that has a kernel: its name, and that of the kernel, where that is another."""

    operator: Text
    kernel: Text | None


@dataclass(frozen=True, slots=True)
class BackendFile:
    """What the file of a backend says.

    `arrays`, `kernels` and `elementwise` name modules of the package; the last one launches kernels that are printed in
    CUDA. `array_api` is where all kernels over the array API standard are taken. `lax`: what is listed and can not have
    a kernel is left out. `meaningless` are keys that say nothing here.
    """

    key: str
    device: str
    arrays: Text
    kernels: Text | None
    array_api: Span | None
    supported: tuple[Supported, ...]
    elementwise: Text | None = None
    lax: bool = False
    meaningless: tuple[str, ...] = ()


def read_backend(file: SourceFile, key: str, diagnostics: Diagnostics) -> BackendFile | None:
    """The file of the backend `key`; None with diagnostics where it is wrong."""
    return _Reader(YamlFile(file, diagnostics), key).read()


class _Reader:
    def __init__(self, yaml_file: YamlFile, key: str) -> None:
        self.yaml = yaml_file
        self.values = Values(yaml_file)
        self.key = key

    def read(self) -> BackendFile | None:
        before = len(self.yaml.diagnostics.items)
        fields = self._fields()
        if fields is None:
            return None
        for name in fields.keys() - set(KEYS):
            self.yaml.error(Code.UNKNOWN_KEY, fields[name][0], f"unknown key '{name}'", did_you_mean(name, KEYS))
        if "autograd" in fields:
            self.yaml.error(
                Code.UNKNOWN_KEY,
                fields["autograd"][0],
                "'autograd' is of no use: gradients follow from derivatives.yaml",
                "remove it; 'gradwright coverage' shows which operators the formulas call",
            )
        backend = self._text(fields, "backend")
        if backend is not None and backend.value != self.key:
            self.yaml.diagnostics.error(
                Code.CONTRADICTION,
                backend.span(),
                f"this is the file of '{self.key}', which is in 'dispatch_keys' of pyproject.toml",
                did_you_mean(backend.value, [self.key]) or f"write 'backend: {self.key}'",
            )
        device = self._text(fields, "device") if "device" in fields else None
        if device is not None and _DEVICE.fullmatch(device.value) is None:
            self._malformed(device, "device", "small letters and digits, as in 'npu'")
        arrays = self._module(fields, "arrays")
        kernels = self._module(fields, "kernels") if "kernels" in fields else None
        elementwise = self._module(fields, "elementwise") if "elementwise" in fields else None
        supported = self._supported(fields)
        lax = self.values.boolean(fields, "lax")
        whole = fields["array_api"][0] if self.values.boolean(fields, "array_api") else None
        if len(self.yaml.diagnostics.items) > before or arrays is None:
            return None
        return BackendFile(
            self.key,
            self.key.lower() if device is None else device.value,
            arrays,
            kernels,
            None if whole is None else self.yaml.span(whole),
            supported,
            elementwise,
            lax,
            tuple(name for name in fields if name in _OF_CPP),
        )

    def _fields(self) -> Fields | None:
        node = self.yaml.only_root()
        what, hint = "the file of a backend", "it begins with 'backend: NPU'"
        return None if node is None else self.yaml.mapping(node, what, hint)

    def _text(self, fields: Fields, name: str) -> Text | None:
        if name in fields:
            return self.yaml.scalar(fields[name][1], f"'{name}'")
        self.yaml.diagnostics.error(
            Code.MISSING_KEY, Span(self.yaml.file, 0, 1), f"the file has no '{name}'", _ABOUT.get(name)
        )
        return None

    def _module(self, fields: Fields, name: str) -> Text | None:
        text = self._text(fields, name)
        if text is not None and _MODULE.fullmatch(text.value) is None:
            self._malformed(text, name, "the name of a module of the package, without '.py'")
        return text

    def _malformed(self, text: Text, name: str, hint: str) -> None:
        self.yaml.diagnostics.error(Code.MALFORMED, text.span(), f"'{text}' is no '{name}'", hint)

    def _supported(self, fields: Fields) -> tuple[Supported, ...]:
        hint = "write '- add.Tensor', or '- add.Tensor: kernel' where the kernel has another name"
        supported: dict[str, Supported] = {}
        lists = (self.yaml.sequence(fields[name][1], f"'{name}'", hint) for name in _LISTS if name in fields)
        for node in (node for nodes in lists for node in nodes or ()):
            each = self._operator(node, hint)
            if each is None:
                continue
            first = supported.setdefault(each.operator.value, each)
            if first is not each:
                self.yaml.diagnostics.error(
                    Code.GIVEN_TWICE,
                    each.operator.span(),
                    f"'{each.operator}' is given twice",
                    None,
                    ((first.operator.span(), "the first one is here"),),
                )
        return tuple(supported.values())

    def _operator(self, node: yaml.Node, hint: str) -> Supported | None:
        kernel: Text | None = None
        name: Any = node
        if isinstance(node, yaml.MappingNode):
            pair = self.yaml.mapping(node, "an operator", hint)
            if pair is None or len(pair) != 1:
                self.yaml.error(Code.WRONG_SHAPE, node, "an operator and its kernel stand alone in a line", hint)
                return None
            ((name, value),) = pair.values()
            kernel = self.yaml.scalar(value, "a kernel", hint)
        text = self.yaml.scalar(name, "an operator", hint)
        return None if text is None else Supported(text, kernel)


_ABOUT = {
    "backend": "write the dispatch key: 'backend: NPU'",
    "arrays": "name the module with the type of arrays: 'arrays: arrays' is arrays.py of the package",
}
