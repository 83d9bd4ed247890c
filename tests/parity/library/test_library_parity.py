"""torch.library, side by side: each body is run with both modules, and what it returns is compared."""

# No `from __future__ import annotations`: annotations are schemas here, of the module that a body runs with.

import itertools
import typing
import warnings
from collections.abc import Sequence

import numpy as np
import pytest
import torch

import gradwright

# Registrations are for the whole process, so each run of a body has its own namespaces.
_numbers = itertools.count()
_BODIES = []


def body(function):
    """Run a function with both modules and compare."""
    _BODIES.append(function)
    return function


def plain(value):
    """A result in a form in which both sides can be equal."""
    if isinstance(value, gradwright.Tensor | torch.Tensor):
        return ("tensor", tuple(value.shape), str(value.dtype).rpartition(".")[2], plain(value.tolist()))
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([plain(item) for item in value]) if type(value) in (list, tuple) else plain(tuple(value))
    return round(value, 4) if isinstance(value, float) else value


def failure(function, *args, **kwargs):
    """The class of the error that a call raises."""
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return None


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@body
def numpy_function_with_derivative(torch, ns):
    @torch.library.custom_op(f"{ns}::sine", mutates_args=())
    def sine(x: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(np.sin(x.numpy()))

    x = torch.tensor([0.5, 1.0, -2.0], requires_grad=True)
    before = failure(sine(x).sum().backward)
    sine.register_autograd(
        lambda ctx, grad: grad * ctx.saved_tensors[0].cos(),
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    (first,) = torch.autograd.grad(sine(x).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return before, sine(x).detach(), sine(x).grad_fn.name(), first.detach(), second, repr(sine), str(sine._opoverload)


@body
def keyword_only_number(torch, ns):
    @torch.library.custom_op(f"{ns}::scaled", mutates_args=())
    def scaled(x: torch.Tensor, *, by: float = 2.0) -> torch.Tensor:
        return torch.from_numpy(x.numpy() * by)

    seen = []

    def setup_context(ctx, inputs, keyword_only_inputs, output):
        seen.append((len(inputs), keyword_only_inputs["by"], torch.is_grad_enabled()))
        ctx.by = keyword_only_inputs["by"]
        ctx.shape, ctx.dtype, ctx.name = 3, "free", "attributes"

    torch.library.register_autograd(f"{ns}::scaled", lambda ctx, grad: grad * ctx.by, setup_context=setup_context)
    x = torch.ones(3, requires_grad=True)
    scaled(x).sum().backward()
    scaled(x, by=3.5).sum().backward()
    return x.grad, seen


@body
def defaults_of_lists(torch, ns):
    lib = torch.library.Library(ns, "DEF")
    lib.define("f(Tensor x, float[2] p=0.5, bool[3] m=True, int[2] k=1, int[] d=[1, 2], int[2]? o=1) -> Tensor")
    lib.define("g(Tensor x, ScalarType[] t=[float, long], ScalarType u=half) -> Tensor")
    lib.define('h(Tensor x, str s="a\'b\\n", float v=-0.0, int r=Mean) -> Tensor')
    lib.define("i(Tensor x, int n) -> Tensor")
    called = []
    for name in "fghi":
        lib.impl(name, lambda x, *others: called.append(len(others)) or x.clone(), "CompositeExplicitAutograd")
    space, x = getattr(torch.ops, ns), torch.ones(2)
    space.f(x)
    space.f(x, [1.0, 2.0], k=3)
    space.g(x)
    space.h(x)
    schema = space.f.default._schema
    wrong = [failure(lib.define, f"w{i}(Tensor x, {each}) -> Tensor") for i, each in enumerate(("ScalarType t=byte",))]
    wrong += [failure(space.f, x, k=[2**70]), failure(space.i, x, 2**70)]
    return called[:1], [argument.default_value for argument in schema.arguments], wrong


@body
def lists_in_and_out(torch, ns):
    @torch.library.custom_op(f"{ns}::each", mutates_args=())
    def each(xs: list[torch.Tensor], factors: list[float], n: int = 1) -> list[torch.Tensor]:
        return [x * f * n for x, f in zip(xs, factors, strict=True)]

    a, b = torch.ones(2, requires_grad=True), torch.ones(3)
    seen = []

    def backward(ctx, grads):
        seen.append((ctx.needs_input_grad, [g.tolist() for g in grads]))
        return [g * f for g, f in zip(grads, ctx.factors, strict=True)], None

    def setup_context(ctx, inputs, output):
        ctx.factors = inputs[1]

    each.register_autograd(backward, setup_context=setup_context)
    out = each([a, b], [3.0, 5.0])
    out[0].sum().backward()
    return [o.detach() for o in out], a.grad, seen, type(out).__name__


@body
def several_results(torch, ns):
    @torch.library.custom_op(f"{ns}::split", mutates_args=())
    def split(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, int]:
        return x * 2, x > 0, 7

    seen = []

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], None, output[0])

    def backward(ctx, *grads):
        seen.append([None if g is None else g.tolist() for g in grads])
        x, nothing, out = ctx.saved_tensors
        seen.append((x.tolist(), nothing, out.tolist(), out.requires_grad))
        return grads[0] * out

    split.register_autograd(backward, setup_context=setup_context)
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    out = split(x)
    out[0].sum().backward()
    return x.grad, seen, out[1], out[2], out[1].requires_grad


@body
def gradients_that_are_not_given(torch, ns):
    @torch.library.custom_op(f"{ns}::pair", mutates_args=())
    def pair(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x * 3

    seen = []

    def backward(ctx, *grads):
        seen.append([g is None for g in grads])
        return grads[0]

    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    x = torch.ones(2, requires_grad=True)
    for setup in (None, setup_context):
        pair.register_autograd(backward, setup_context=setup)
        pair(x)[0].sum().backward()
    return seen, x.grad


@body
def wrong_backwards(torch, ns):
    @torch.library.custom_op(f"{ns}::product", mutates_args=())
    def product(x: torch.Tensor, y: torch.Tensor, n: int) -> torch.Tensor:
        return x * y * n

    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    found = []
    for result in (
        lambda g: g,
        lambda g: (g, g, g),
        lambda g: (g, g, None, g),
        lambda g: (g, g, None, None),
        lambda g: (3, None, None),
        lambda g: (torch.ones(5), None, None),
        lambda g: (g.double(), g, None),
        lambda g: (None, None, None),
    ):
        product.register_autograd(lambda ctx, grad, result=result: result(grad))
        out = product(x, y, 2)
        try:
            (grad,) = torch.autograd.grad(out.sum(), x, allow_unused=True)
            found.append(grad)
        except Exception as error:
            found.append(type(error).__name__)
    return found


@body
def changed_and_freed_saved_tensors(torch, ns):
    @torch.library.custom_op(f"{ns}::square", mutates_args=())
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x

    def save_input(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def save_output(ctx, inputs, output):
        ctx.save_for_backward(output)

    x = torch.ones(2, requires_grad=True)
    found = []
    for setup in (save_input, save_output):
        square.register_autograd(lambda ctx, grad: grad * ctx.saved_tensors[0], setup_context=setup)
        given = x * 1
        out = square(given)
        (given if setup is save_input else out).add_(1)
        found.append(failure(out.sum().backward))
        out = square(x)
        out.sum().backward(retain_graph=True)
        out.sum().backward()
        found.append(failure(out.sum().backward))

    def save_number(ctx, inputs, output):
        ctx.save_for_backward(3)

    square.register_autograd(lambda ctx, grad: grad, setup_context=save_number)
    found.append(failure(square, x))
    return found, x.grad


@body
def mutation(torch, ns):
    @torch.library.custom_op(f"{ns}::fill", mutates_args={"x"})
    def fill(x: torch.Tensor, value: float) -> None:
        x.numpy()[:] = value

    @torch.library.custom_op(f"{ns}::partly", mutates_args={"x"})
    def partly(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.numpy()[:] = 5
        return y * 2

    x, y = torch.ones(2), torch.ones(2, requires_grad=True)
    returned = fill(x, 4.0)
    out = partly(x, y)
    used = torch.ones(2, requires_grad=True) * 1
    product = used * used
    with torch.no_grad():
        fill(used, 2.0)
    return (
        returned,
        x,
        x._version,
        str(fill._opoverload._schema),
        fill._opoverload._schema.is_mutable,
        failure(fill.register_autograd, lambda ctx, grad: None),
        out.requires_grad,
        failure(out.sum().backward),
        failure(product.sum().backward),
    )


@body
def inplace_and_out_tags(torch, ns):
    @torch.library.custom_op(f"{ns}::double_", mutates_args={"x"}, tags=torch.Tag.inplace)
    def double_(x: torch.Tensor) -> torch.Tensor:
        x.numpy()[:] *= 2
        return x

    @torch.library.custom_op(f"{ns}::double_out", mutates_args={"out"}, tags=torch.Tag.out)
    def double_out(x: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
        out.copy_(x * 2)
        return out

    x, out = torch.ones(2), torch.zeros(2)
    same = double_(x) is x
    written = double_out(x, out=out) is out
    lib = torch.library.Library(f"{ns}tags", "DEF")
    wrong = [
        failure(lib.define, "f(Tensor x) -> Tensor", tags=torch.Tag.inplace),
        failure(lib.define, "g(Tensor(a!) x, Tensor(b!) y) -> Tensor(a!)", tags=torch.Tag.inplace),
        failure(lib.define, "h(Tensor(a!) x) -> Tensor(a!)", tags=torch.Tag.out),
        failure(lib.define, "i(Tensor x, *, Tensor(a!) out) -> Tensor", tags=torch.Tag.out),
    ]
    return x, out, same, written, str(double_._opoverload._schema), str(double_out._opoverload._schema), wrong


@body
def results_must_be_new(torch, ns):
    make = torch.library.custom_op

    def same(x: torch.Tensor) -> torch.Tensor:
        return x

    def view(x: torch.Tensor) -> torch.Tensor:
        return x.view(-1)

    def twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x.clone()
        return y, y

    def number(x: torch.Tensor) -> torch.Tensor:
        return 3

    def something(x: torch.Tensor) -> None:
        return 3

    functions = (same, view, twice, number, something)
    return [failure(make(f"{ns}::{f.__name__}", f, mutates_args=()), torch.ones(2)) for f in functions]


@body
def kernels_for_devices(torch, ns):
    @torch.library.custom_op(f"{ns}::f", mutates_args=(), device_types="cuda")
    def f(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    x = torch.ones(1)
    found = [failure(f, x)]
    f.register_kernel("cpu")(lambda x: x * 7)
    found.append(f(x))
    torch.library.register_kernel(f"{ns}::f", "cpu", lambda x: x * 9)
    found.append(f(x))
    with f.set_kernel_enabled("cpu", enabled=False):
        found.append(f(x))
    found.append(f(x))
    found.append(failure(f.register_kernel("toaster"), lambda x: x))
    torch.library.register_kernel(f, None, lambda x: x * 11)
    found.append(f(x))

    def factory(n: int) -> torch.Tensor:
        return torch.ones(n)

    def factory_on(n: int, device: torch.device) -> torch.Tensor:
        return torch.ones(n) if isinstance(device, torch.device) else torch.zeros(n)

    found.append(torch.library.custom_op(f"{ns}::factory", factory, mutates_args=())(3))
    found.append(failure(torch.library.custom_op, f"{ns}::g", factory, mutates_args=(), device_types="cpu"))
    found.append(torch.library.custom_op(f"{ns}::h", factory_on, mutates_args=(), device_types="cpu")(2, "cpu"))
    return found


@body
def wrong_custom_operators(torch, ns):
    make = torch.library.custom_op

    def good(x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    def keyword(x: torch.Tensor, *, y: torch.Tensor) -> torch.Tensor:
        return x * y

    return [
        failure(make, "name", good, mutates_args=()),
        failure(make, "a::b::c", good, mutates_args=()),
        failure(make, f"{ns}::a", lambda x: x, mutates_args=()),
        failure(make, f"{ns}::b", good, mutates_args=("z",)),
        failure(make, f"{ns}::c", keyword, mutates_args=()),
        failure(make, f"{ns}::d", good, mutates_args=(), schema="(Tensor(a!) x) -> Tensor"),
        str(make(f"{ns}::e", good, mutates_args=(), schema="(Tensor y) -> Tensor")._opoverload._schema),
        repr(make(f"{ns}::e", good, mutates_args=())),
        str(make(f"{ns}::e", good, mutates_args="unknown")._opoverload._schema),
    ]


@body
def define_and_impl(torch, ns):
    library = torch.library
    library.define(f"{ns}::f", "(Tensor x, int n=2) -> Tensor")

    def decorator(function):
        return lambda *args: function(*args) + 1

    @library.impl(f"{ns}::f", "cpu")
    @decorator
    def kernel(x, n=2):
        return x * n

    f = getattr(torch.ops, ns).f
    x = torch.ones(2)
    return (
        f(x),
        f(x, 5),
        f.default(x=x, n=3),
        failure(library.define, "f", "(Tensor x) -> Tensor"),
        failure(library.define, f"{ns}::g", "g(Tensor x) -> Tensor"),
        failure(library.define, 3, "(Tensor x) -> Tensor"),
        failure(library.define, f"{ns}::f", "(Tensor x, int n=2) -> Tensor"),
        failure(library.impl(f"{ns}::f", "cpu"), 3),
        failure(library.impl, f"{ns}::f", "toaster", kernel),
        failure(library.register_kernel, 3, "cpu", kernel),
        failure(library.register_autograd, f"{ns}::nothing", kernel),
        failure(library.register_vmap, f"{ns}::nothing", kernel),
        failure(library.get_kernel, f"{ns}::nothing", "CPU"),
        failure(library.get_kernel, f"{ns}::f", "Toaster"),
        failure(f),
        failure(f, 1),
        failure(f, x, 1, 2),
        failure(f, x, y=2),
        failure(f.default, x, "a"),
    )


@body
def errors_of_libraries(torch, ns):
    library = torch.library
    lib = library.Library(ns, "DEF")
    other = library.Library(ns, "IMPL", "CPU")
    found = [
        repr(lib),
        repr(other),
        lib.define("f.a(Tensor x, int n=2) -> Tensor"),
        lib.define("g( Tensor   x ,int n=2)->Tensor"),
        failure(library.Library, ns, "DEF"),
        failure(library.Library, "aten", "DEF"),
        failure(library.Library, ns, "OTHER"),
        failure(library.Library, "prim", "FRAGMENT"),
        failure(library.Library, ns, "IMPL", "Toaster"),
        failure(lib.define, "f.a(Tensor x) -> Tensor"),
        failure(lib.define, "h(Tensr x) -> Tensor"),
        failure(lib.define, "h(Tensor x) -> "),
        failure(lib.define, "h(Tensor x"),
        failure(lib.define, "h"),
        failure(lib.define, "h(Tensor x) -> Tensor", "PURE_FUNCTION"),
        failure(lib.define, "elsewhere::h(Tensor x) -> Tensor"),
        failure(other.define, "h(Tensor x) -> Tensor"),
        failure(lib.impl, "g", 3, "CPU"),
        failure(lib.impl, "g", lambda x, n: x, "Toaster"),
        failure(lib.impl, 3, lambda x, n: x, "CPU"),
        failure(lib.impl, "elsewhere::g", lambda x, n: x, "CPU"),
        failure(other.impl, "g", lambda x, n: x, "CUDA"),
        failure(lib.fallback, lambda op: None, "CPU"),
        failure(getattr(torch.ops, ns).g, torch.ones(1)),
    ]
    other.impl("g", lambda x, n=2: x * n)
    found.append(failure(lib.impl, "g", lambda x, n=2: x, "CPU", allow_override=False))
    found.append(getattr(torch.ops, ns).g(torch.ones(1)))
    lib._destroy()
    found.append(failure(lib.define, "i(Tensor x) -> Tensor"))
    found.append(failure(lib.impl, "g", lambda x: x, "CPU"))
    found.append(failure(lambda: getattr(torch.ops, ns).g))
    found.append(repr(library.Library(ns, "DEF")))
    return found


@body
def precedence(torch, ns):
    found = []
    x, leaf = torch.ones(1), torch.ones(1, requires_grad=True)
    with torch.library._scoped_library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        f = getattr(torch.ops, ns).f
        for key, factor in (
            ("Meta", 2),
            # PyTorch does not notice this one if it comes after the next.
            ("CompositeExplicitAutograd", 5),
            ("CompositeImplicitAutograd", 3),
            ("CPU", 7),
            ("CUDA", 11),
            ("PrivateUse1", 13),
            ("Autograd", 17),
            ("AutogradCUDA", 19),
            ("AutogradCPU", 23),
        ):
            lib.impl("f", lambda x, factor=factor: x * factor, key)
            try:
                found.append((key, f(x), f(leaf).detach(), f(leaf).requires_grad, f(x).requires_grad))
            except NotImplementedError as error:
                found.append((key, "'CPU' backend" in str(error)))
        found.append([f.default.has_kernel_for_dispatch_key(key) for key in ("CPU", "CUDA", "XPU", "AutogradCPU")])
    with torch.library._scoped_library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        f = getattr(torch.ops, ns).f
        lib.impl("f", lambda x: x * 3, "CompositeImplicitAutograd")
        lib.impl("f", lambda x: x * 17, "Autograd")
        found.append(f(leaf).detach())
    return found


@body
def kernels_without_a_derivative(torch, ns):
    x = torch.ones(2, requires_grad=True)
    with torch.library._scoped_library(ns, "DEF") as lib:
        lib.define("hidden(Tensor x) -> Tensor")
        lib.impl("hidden", lambda x: x.detach() * 2, "CPU")
        lib.define("recorded(Tensor x) -> Tensor")
        lib.impl("recorded", lambda x: x * 2, "CPU")
        lib.define("numpy(Tensor x) -> Tensor")
        lib.impl("numpy", lambda x: torch.from_numpy(x.numpy() * 2), "CPU")
        lib.define("none(Tensor x) -> Tensor")
        lib.impl("none", lambda x: x.detach() * 2, "CPU")
        lib.impl("none", torch.library.fallthrough_kernel, "Autograd")
        ops = getattr(torch.ops, ns)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            hidden = ops.hidden(x)
            hidden.sum().backward()
        (grad,) = torch.autograd.grad(ops.recorded(x).sum(), x)
        return (
            hidden.requires_grad,
            "WarnNotImplemented" in repr(hidden),
            [w.category.__name__ for w in seen],
            x.grad,
            grad,
            failure(ops.numpy, x),
            ops.none(x).requires_grad,
        )


@body
def built_in_operators(torch, ns):
    found = []
    x, y = torch.tensor([3.0], requires_grad=True), torch.tensor([4.0])

    def kernel(a, b):
        found.append(a.requires_grad)
        return torch.from_numpy(a.detach().numpy() * b.detach().numpy() * 10)

    with torch.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("hypot", kernel, "CPU")
        out = torch.hypot(x, y)
        out.sum().backward()
        found += [out.detach(), out.grad_fn.name(), x.grad, x.hypot(y).detach(), torch.ops.aten.hypot(y, y)]
        found.append(torch.hypot(y, y.double()).dtype == torch.float64)
    with torch.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("hypot", lambda a, b: a - b, "AutogradCPU")
        out = torch.hypot(x, y)
        found += [out.detach(), torch.hypot(y, y), torch.autograd.grad(out, x)[0]]
    with torch.library._scoped_library("aten", "IMPL", "CompositeExplicitAutograd") as lib:
        lib.impl("hypot", lambda a, b: a - b)
        lib.impl("aten::hypot", lambda a, b: a - b, "CompositeExplicitAutograd")
        found.append(torch.hypot(y, y))
    for key in ("", "CPU", "CompositeImplicitAutograd"):
        with torch.library._scoped_library("aten", "IMPL") as lib:
            lib.impl(torch.ops.aten.square.default, lambda a: a - 1, key)
            out = torch.square(x)
            found += [key, out.detach(), torch.autograd.grad(out, x)[0]]
    with torch.library._scoped_library("aten", "IMPL") as lib:
        found.append(failure(lib.impl, "square", lambda a: a, "Meta"))
        found.append(failure(lib.impl, torch.ops.aten.square, lambda a: a, "CPU"))
    found += [torch.hypot(x, y).detach(), torch.square(x).detach()]
    return found


@body
def kernel_that_calls_what_it_replaces(torch, ns):
    kernel = torch.library.get_kernel("aten::sin", "CPU")

    def positive_only(keys, x):
        return torch.zeros_like(x) if bool((x < 0).any()) else kernel.call_boxed(keys, x)

    with torch.library._scoped_library("aten", "IMPL") as lib:
        lib.impl("sin", positive_only, "CPU", with_keyset=True)
        x = torch.tensor([0.5, 1.0], requires_grad=True)
        out = torch.sin(x)
        return out.detach(), torch.autograd.grad(out.sum(), x)[0], torch.sin(-x.detach())


@body
def arguments_of_kernels(torch, ns):
    seen = []

    def kernel(*args, **kwargs):
        seen.append(([a if not isinstance(a, torch.Tensor) else "tensor" for a in args[:-1]], sorted(kwargs)))
        seen.append([type(a).__name__.rpartition(".")[2] for a in args[1:3]])
        return args[0].clone()

    with torch.library._scoped_library(ns, "DEF") as lib:
        lib.define("f(Tensor x, Scalar s, float f=2, str m='a', bool b=True, int[2] q=1, *, int k=3) -> Tensor")
        lib.impl("f", kernel, "CPU")
        f = getattr(torch.ops, ns).f
        f(torch.ones(1), 3)
        f(torch.ones(1), 2.5, 1)
        f(torch.ones(1), 3, q=[1, 2], k=3)
        f(torch.ones(1), 3, 2.0, "b", k=4)
    return seen


@body
def schemas_that_write_and_share(torch, ns):
    with torch.library._scoped_library(ns, "DEF") as lib:
        lib.define("double_(Tensor(a!) x) -> Tensor(a!)")
        lib.impl("double_", lambda x: x.mul_(2), "CPU")
        lib.define("flat(Tensor(a) x) -> Tensor(a)")
        lib.impl("flat", lambda x: x.view(-1), "CPU")
        lib.define("into(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
        lib.impl("into", lambda x, *, out: out.copy_(x), "CPU")
        lib.define("pair(Tensor x) -> (Tensor a, Tensor b)")
        lib.impl("pair", lambda x: [x + 1, x + 2], "CPU")
        ops = getattr(torch.ops, ns)
        x = torch.ones(2, 1)
        doubled, flat, out = ops.double_(x), ops.flat(x), torch.zeros(2, 1)
        written = ops.into(x, out=out)
        schema = ops.double_.default._schema
        return (
            doubled is x,
            x,
            x._version,
            flat._is_view(),
            written is out,
            out,
            ops.pair(x),
            (schema.name, schema.overload_name, schema.is_mutable),
            [(a.name, str(a.type), a.kwarg_only, a.alias_info.is_write) for a in schema.arguments],
            ops.pair.default._schema.returns[1].name,
        )


@body
def objects_under_ops(torch, ns):
    with torch.library._scoped_library(ns, "DEF") as lib:
        lib.define("f.a(Tensor x, int n=2) -> Tensor")
        lib.define("f.b(Tensor x, str n) -> Tensor")
        lib.define("f(Tensor x, Tensor y) -> Tensor")
        lib.define("g(Tensor x) -> Tensor", tags=torch.Tag.pointwise)
        for name, number in (("f.a", 1), ("f.b", 2), ("f", 3)):
            lib.impl(name, lambda x, *rest, number=number: x * number, "CPU")
        ops = getattr(torch.ops, ns)
        x = torch.ones(2)
        return (
            [str(ops.f).removeprefix(ns), str(ops.f.a).removeprefix(ns), repr(ops.f.a).replace(ns, "")],
            repr(ops.f).replace(ns, ""),
            [ops.f.a.name().removeprefix(ns), ops.f.default.name().removeprefix(ns), ops.f.a.__name__, ops.f.__name__],
            [ops.f.a._overloadname, ops.f.a._opname, ops.f.a.namespace == ns, ops.f.a.overloadpacket is ops.f],
            sorted(ops.f.overloads()),
            [name in dir(ops) for name in ("f", "h")],
            ops.f.a is ops.f.a,
            {ops.f.a: 1}[ops.f.a],
            str(ops.f.a._schema).removeprefix(ns),
            [tag.name for tag in ops.g.default.tags],
            (ops.f(x), ops.f(x, 3), ops.f(x, "s"), ops.f(x, x), ops.f.a(x, n=4)),
            failure(ops.f, x, 1.5),
            failure(lambda: ops.h),
            failure(lambda: ops.f.c),
            failure(lambda: ops.g.a),
            failure(lambda: getattr(torch.ops, f"{ns}missing").f),
        )


@body
def built_in_objects_under_ops(torch, ns):
    aten = torch.ops.aten
    x, out = torch.tensor([1.0, 3.0]), torch.zeros(2)
    return (
        aten.add(x, x),
        aten.add(x, 2),
        aten.add.Tensor(x, x, alpha=2),
        aten.add.out(x, x, out=out) is out,
        out,
        aten.add_.Tensor(x.clone(), x),
        aten.sum(x),
        aten.sum.dim_IntList(x, [0]),
        tuple(aten.max.dim(x, 0)),
        [str(aten.add.Tensor._schema), str(aten.add_.Tensor._schema), str(aten.add.out._schema)],
        [aten.add_.Tensor._schema.is_mutable, aten.add.out._schema.is_mutable, aten.add.Tensor._schema.is_mutable],
        [(a.name, a.default_value, a.kwarg_only) for a in aten.add.Tensor._schema.arguments],
        [a.name for a in aten.max.dim._schema.returns],
        repr(aten.add.Tensor),
        aten.sin.default.name(),
        {"Tensor", "Scalar", "out"} <= set(aten.add.overloads()),
        failure(lambda: aten.nonsense),
        failure(lambda: aten.add.nonsense),
        failure(aten.add, x, "a"),
        failure(aten.add.Tensor, x),
        failure(aten.sin, "a"),
    )


@body
def opcheck(torch, ns):
    check = torch.library.opcheck
    utils = ("test_schema", "test_autograd_registration", "test_faketensor")

    def run(op, *args):
        results = check(op, args, test_utils=utils, raise_exception=False)
        return {name: result == "SUCCESS" for name, result in results.items()}

    @torch.library.custom_op(f"{ns}::scaled", mutates_args=())
    def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
        return torch.from_numpy(x.numpy(force=True) * by)

    leaf = torch.ones(2, 3, requires_grad=True)
    found = [run(scaled, leaf, 2.0)]
    for fake in (
        lambda x, by: torch.empty_like(x),
        lambda x, by: torch.empty(3),
        lambda x, by: torch.empty(2, 3, dtype=torch.float64),
        lambda x, by: torch.empty(3, 2).t(),
        lambda x, by: (torch.empty(2, 3), torch.empty(2, 3)),
    ):
        scaled.register_fake(fake)
        found.append(run(scaled, leaf, 2.0))
    lib = torch.library.Library(f"{ns}check", "DEF")

    def shared(x):
        y = x.clone()
        return y, y

    for name, schema, kernel, key in (
        ("mutates", "(Tensor x) -> Tensor", lambda x: (x.add_(1), x.clone())[1], "CPU"),
        ("spares", "(Tensor(a!) x) -> ()", lambda x: None, "CPU"),
        ("views", "(Tensor x) -> Tensor", lambda x: x.view(-1), "CPU"),
        ("shares", "(Tensor x) -> (Tensor, Tensor)", shared, "CPU"),
        ("says", "(Tensor(a) x) -> Tensor(a)", lambda x: x.view(-1), "CPU"),
        ("half", "(Tensor(a) x) -> Tensor", lambda x: x.view(-1), "CPU"),
        ("traced", "(Tensor x) -> Tensor", lambda x: x * 2, "CompositeImplicitAutograd"),
        ("inner", "(Tensor x) -> Tensor", lambda x: x * 2, "CPU"),
    ):
        lib.define(name + schema)
        lib.impl(name, kernel, key)
        op = getattr(getattr(torch.ops, f"{ns}check"), name)
        for argument in (torch.ones(2), torch.ones(2, requires_grad=True)):
            if argument.requires_grad and name == "mutates":
                continue
            results = check(op, (argument,), test_utils=utils[:2], raise_exception=False)
            found.append((name, [result == "SUCCESS" for result in results.values()]))
    x = torch.ones(2)
    found += [
        check(torch.ops.aten.sin.default, (leaf,), test_utils=utils),
        failure(check, getattr(torch.ops, f"{ns}check").mutates, (x,), test_utils="test_schema"),
        x.tolist(),
        failure(check, scaled, (x, 2.0), test_utils="test_x"),
        failure(check, lambda x: x, (x,)),
        failure(check, scaled, (x, 2.0), atol=1),
    ]
    return found


@body
def libraries_come_and_go(torch, ns):
    found = []
    lib = torch.library.Library(ns, "FRAGMENT")
    torch.library.define(f"{ns}::f", "(Tensor x) -> Tensor", lib=lib)
    torch.library.impl(f"{ns}::f", "default", lambda x: x * 2, lib=lib)
    other = torch.library.Library(ns, "IMPL", "CPU")
    other.impl("f", lambda x: x * 3)
    ops = getattr(torch.ops, ns)
    x = torch.ones(1, requires_grad=True)
    found.append(ops.f(x).detach())
    other._destroy()
    found.append(ops.f(x).detach())
    lib._destroy()
    found.append(failure(lambda: ops.f))
    early = torch.library.Library(ns, "IMPL", "CPU")
    early.impl("f", lambda x: x * 5)
    lib = torch.library.Library(ns, "FRAGMENT")
    lib.define("f(Tensor x, int n=0) -> Tensor")
    found += [ops.f(x).detach(), str(ops.f.default._schema).removeprefix(ns)]
    return found


@pytest.mark.parametrize("function", _BODIES, ids=lambda function: function.__name__)
def test_both_do_the_same(function):
    ns = f"parity{next(_numbers)}"
    ours, theirs = plain(function(gradwright, ns)), plain(function(torch, ns))
    assert ours == theirs


def _annotations(torch):
    T = torch.Tensor
    number = typing.Union[int, float, bool]  # noqa: UP007
    arguments = [
        *(T, int, float, bool, str, number, torch.dtype, torch.device, T | None, int | None, list[T], list[T | None]),
        *(typing.Optional[T], typing.Sequence[int], Sequence[float], list[bool], list[int] | None, list[number]),  # noqa
        *(list[T] | None, tuple[int, int], dict, list, complex, list[list[int]], typing.Any, object, int | float, set),
        *(str | None, torch.dtype | None, list[str], "nonsense", "Tensr"),
    ]
    results = [None, T, tuple[T, T], list[T], int, float, bool, number, tuple[T, int], tuple[list[T], T], str]
    results += [T | None, tuple, tuple[T, ...], typing.Any, tuple[()]]
    return arguments, results


def _function(annotation, result, default=None):
    def function(x):
        raise NotImplementedError

    function.__annotations__ = {"x": annotation, "return": result}
    if default is not None:
        function.__defaults__ = (default,)
    return function


def _inferred(torch, function, **options):
    try:
        return torch.library.infer_schema(function, **{"mutates_args": (), **options})
    except ValueError:
        return "ValueError"


def test_inferred_schemas():
    (arguments, results), (their_arguments, their_results) = _annotations(gradwright), _annotations(torch)
    for ours, theirs in zip(arguments, their_arguments, strict=True):
        expected = _inferred(torch, _function(theirs, None))
        assert (ours, _inferred(gradwright, _function(ours, None))) == (ours, expected)
    for ours, theirs in zip(results, their_results, strict=True):
        expected = _inferred(torch, _function(torch.Tensor, theirs))
        assert (ours, _inferred(gradwright, _function(gradwright.Tensor, ours))) == (ours, expected)
    defaults = [(int, 3), (float, 2.0), (float, 1e-5), (bool, True), (str, "a"), (int | None, 4), (list[int], [1])]
    for annotation, default in defaults:
        pair = [_inferred(m, _function(annotation, m.Tensor, default)) for m in (gradwright, torch)]
        assert pair[0] == pair[1]
    pair = [_inferred(m, _function(m.dtype, m.Tensor, m.float32)) for m in (gradwright, torch)]
    assert pair[0] == pair[1]


def test_inferred_schemas_of_whole_functions():
    def cases(torch):
        T = torch.Tensor

        def star(x: T, *, y: T, z: int = 3) -> T: ...
        def lists(x: list[T], y: T | None) -> None: ...
        def out(x: T, *, out: T) -> T: ...
        def inplace(x: T, n: int) -> T: ...
        def varied(*x: T) -> T: ...
        def keywords(**x: T) -> T: ...
        def silent(x: T): ...
        def unannotated(x, y: T) -> T: ...
        def positional(x: T, /) -> T: ...

        for function in (star, lists, out, inplace, varied, keywords, silent, unannotated, positional):
            function.__annotations__ = {
                name: eval(a, {"T": T, "list": list}) if isinstance(a, str) else a
                for name, a in function.__annotations__.items()
            }
        return [
            _inferred(torch, star, mutates_args=("y",), op_name="foo"),
            _inferred(torch, star, mutates_args="unknown"),
            _inferred(torch, star, mutates_args=("z",)),
            _inferred(torch, star, mutates_args="x"),
            _inferred(torch, star, mutates_args=["nothing"]),
            _inferred(torch, lists, mutates_args=("x", "y")),
            _inferred(torch, out, mutates_args=("out",), tags=torch.Tag.out),
            _inferred(torch, inplace, mutates_args=("x",), tags=(torch.Tag.inplace,)),
            *(_inferred(torch, function) for function in (varied, keywords, silent, unannotated, positional)),
        ]

    assert cases(gradwright) == cases(torch)
