"""Declarations of helpers in headers of C++, and which of several files a name means."""

from __future__ import annotations

from codegen.read.cpp_headers import read_declarations
from codegen.read.declarations import by_name, together
from codegen.read.files import read_helpers
from codegen.source import Diagnostics, SourceFile

HEADER = """\
#pragma once
#define DECLARE(name) \\
  Tensor name(const Tensor& self);
// Tensor in_a_comment(const Tensor& self);
/* Tensor in_another(const Tensor& self); */
namespace theirs::details {
extern const char* message;
struct LIB_API Range {
  int member(int n) { return n; }
};
LIB_API Tensor first_backward(const at::Tensor& grad, c10::SymIntArrayRef sizes,
    const std::optional<at::Scalar>& p_, ::std::array<bool, 2> output_mask);
inline std::tuple<Tensor, at::Tensor> second_backward(const std::vector<std::vector<int64_t>>& sizes, bool flag = false,
    at::OptionalIntArrayRef dim = {1, 2}, const Tensor& B_ = {}) {
  if (flag) { return other(sizes); }
  return {};
}
namespace inner { std::vector<Tensor> third(TensorList tensors, std::string_view const& mode, double, int64_t n); }
template <typename T>
Tensor templated(const Tensor& grad, T other);
Tensor templated(const Tensor& grad, double other);
void nothing(const Tensor& self);
Tensor taken(const char* name);
Tensor overloaded(const Tensor& grad, Scalar s);
Tensor overloaded(const Tensor& grad, const TensorGeometry& where);
[[nodiscard]] auto unsaid(int n) -> int;
constexpr int number = 3;
} // namespace theirs::details
"""


def test_declarations_have_the_types_of_schemas() -> None:
    declared = [str(each.schema) for each in read_declarations(SourceFile("theirs.h", HEADER))]
    assert declared == [
        "first_backward(Tensor grad, SymInt[] sizes, Scalar? p_, bool[2] output_mask) -> Tensor",
        "second_backward(int[][] sizes, bool flag=false, int[]? dim={1, 2}, Tensor B_={}) -> (Tensor, Tensor)",
        "third(Tensor[] tensors, str mode, float argument_2, int n) -> Tensor[]",
        "overloaded(Tensor grad, Scalar s) -> Tensor",
        "overloaded(Tensor grad, TensorGeometry where) -> Tensor",
    ]


def test_a_declaration_has_its_place() -> None:
    declaration = read_declarations(SourceFile("theirs.h", HEADER))[0]
    name = declaration.text.span(0, declaration.schema.name_end)
    assert (str(name), name.file.text[name.start : name.end]) == ("theirs.h:11:16", "first_backward")


def test_what_is_no_header_declares_nothing() -> None:
    for text in (
        "",
        "{",
        "((((",
        "namespace {",
        "f(",
        "f(int",
        ";;}}",
        "Tensor f(int n) {",
        "/* never closed",
        "a<b>(c);",
    ):
        assert all(each.schema.name.base == "f" for each in read_declarations(SourceFile("theirs.h", text)))


def declared(first: str, rest: str) -> list[str]:
    diagnostics = Diagnostics()
    files = (SourceFile("theirs.h", first), SourceFile("ours.yaml", rest))
    known = together(*(by_name(read_helpers(file, diagnostics)) for file in files))
    assert diagnostics.items == []
    return [str(each.schema) for group in known.values() for each in group]


def test_the_first_file_that_declares_a_name_decides() -> None:
    ours = "- helper: f(Tensor grad) -> Tensor\n- helper: f.two(Tensor grad, int n) -> Tensor\n"
    ours += "- helper: g(int n) -> Tensor\n"
    assert declared("Tensor f(const Tensor& grad, const Tensor& self);", ours) == [
        "f(Tensor grad, Tensor self) -> Tensor",
        "g(int n) -> Tensor",
    ]


def test_what_is_the_same_in_other_words_is_said_in_ours() -> None:
    """So that the function of Python is found, by the overload and the names of its parameters."""
    ours = "- helper: f.dim(Tensor grad, Tensor? weight, int[]? dim, int n) -> Tensor\n"
    same = "Tensor f(const Tensor& grad, const Tensor& w, OptionalIntArrayRef opt_dim, SymInt n);"
    assert declared(same, ours) == ["f.dim(Tensor grad, Tensor? weight, int[]? dim, int n) -> Tensor"]
    swapped = "Tensor f(const Tensor& weight, const Tensor& grad, OptionalIntArrayRef dim, int64_t n);"
    assert declared(swapped, ours) == ["f(Tensor weight, Tensor grad, int[]? dim, int n) -> Tensor"]
    other_type = "Tensor f(const Tensor& grad, const Tensor& weight, OptionalIntArrayRef dim, double n);"
    assert declared(other_type, ours) == ["f(Tensor grad, Tensor weight, int[]? dim, float n) -> Tensor"]
