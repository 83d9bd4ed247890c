"""samples.yaml beside a native_functions.yaml."""

from __future__ import annotations

from codegen.read.files import read_native_functions
from codegen.read.model import NativeFunction
from codegen.read.sample_file import read_sample_file, with_samples
from codegen.read.yaml_text import YamlFile
from codegen.source import Diagnostics, SourceFile

DECLARED = "- func: f(Tensor self) -> Tensor\n  samples:\n  - T(3)\n"


def joined(samples: str) -> tuple[NativeFunction, list[str]]:
    diagnostics = Diagnostics()
    functions = read_native_functions(SourceFile("native_functions.yaml", DECLARED), diagnostics)
    entries = read_sample_file(YamlFile(SourceFile("samples.yaml", samples), diagnostics))
    (function,) = with_samples(functions, entries, diagnostics)
    return function, [item.message for item in diagnostics.items]


def test_what_an_entry_leaves_open_stands_in_the_file_of_samples() -> None:
    function, messages = joined("- f:\n    domain: [0, 2]\n    reference: numpy.sin\n")
    assert not messages
    assert [str(sample) for sample in function.samples] == ["T(3)"]
    assert function.domain == (0, 2)
    assert function.reference == "numpy.sin"


def test_samples_stand_in_one_of_the_files() -> None:
    function, messages = joined("- f:\n  - T(4)\n")
    assert messages == ["'f' has 'samples' in its entry, too"]
    assert [str(sample) for sample in function.samples] == ["T(3)"]
