"""The engine's loop in C++ and the one in Python: the same results, order, hooks and errors."""

from __future__ import annotations

from support.native_core import needs_core
from support.programs import run

# Values are small integers in float64, so that every sum is exact in whatever order it is made.
RANDOM_GRAPHS = """
import random
import sys
import numpy as np
import gradwright
from gradwright.autograd.graph import register_multi_grad_hook

seed = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
log = []

def show(value):
    if isinstance(value, gradwright.Tensor):
        recorded = "*" if value.requires_grad else ""
        return f"{value.dtype}{list(value.shape)}{recorded}{value.detach().numpy().ravel().tolist()}"
    if isinstance(value, (tuple, list)):
        return [show(item) for item in value]
    return value

class Double(gradwright.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * 2

    @staticmethod
    def backward(ctx, grad):
        log.append(["Double", show(grad), show(ctx.saved_tensors[0])])
        return grad * 2

class Both(gradwright.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.set_materialize_grads(seed.random() < 0.5)
        return a + b, a - b

    @staticmethod
    def backward(ctx, first, second):
        log.append(["Both", show(first), show(second)])
        if first is None or second is None:
            given = second if first is None else first
            return given, given
        return first + second, first - second

def leaf(shape):
    values = [seed.randint(-2, 2) for _ in range(int(np.prod(shape)))]
    return gradwright.tensor(np.array(values, float).reshape(shape)).requires_grad_()

def note(kind, number, change=None):
    def hook(*args):
        log.append([kind, number, *(show(a) for a in args)])
        return None if change is None else change(*args)
    return hook

def cap(grads):
    return tuple(None if g is None else g.clamp(-5, 5) for g in grads)

def add_hooks(tensors, leaves):
    for _ in range(seed.randint(0, 4)):
        number = seed.randrange(len(tensors))
        tensor = tensors[number]
        kind = seed.randrange(6)
        if kind == 0:
            tensor.register_hook(note("tensor", number))
        elif kind == 1:
            tensor.register_hook(note("changed", number, lambda g: -g))
        elif kind == 2:
            tensor.retain_grad()
        elif tensor.grad_fn is None:
            if kind == 3:
                tensor.register_post_accumulate_grad_hook(note("accumulated", number))
            else:
                accumulator = (tensor * 1).grad_fn.next_functions[0][0]
                accumulator.register_prehook(note("before leaf", number, cap if seed.random() < 0.5 else None))
                accumulator.register_hook(note("after leaf", number))
        elif kind == 3:
            tensor.grad_fn.register_prehook(note("before", number, cap if seed.random() < 0.5 else None))
        elif kind == 4:
            tensor.grad_fn.register_hook(note("after", number, (lambda i, o: cap(i)) if seed.random() < 0.3 else None))
        else:
            chosen = [t for t in seed.sample(tensors, min(3, len(tensors))) if t.requires_grad]
            register_multi_grad_hook(chosen, note("several", number), mode=seed.choice(["all", "any"]))

def build(leaves):
    tensors = list(leaves)
    for _ in range(seed.randint(1, 14)):
        a, b = seed.choice(tensors), seed.choice(tensors)
        kind = seed.randrange(12)
        if kind <= 2:
            made = [a * b]
        elif kind == 3:
            made = [a + b.sum(0)]
        elif kind == 4:
            made = [a - b]
        elif kind == 5:
            made = [-a]
        elif kind == 6:
            made = [gradwright.stack([piece * 1 for piece in a.unbind(0)[:2]] + [a[0]])[:2]]
        elif kind == 7:
            made = [Double.apply(a)]
        elif kind == 8:
            made = list(Both.apply(a, b))
        elif kind == 9:
            made = [a.reshape(-1).reshape(a.shape)]
        elif kind == 10:
            first, second = a.unbind(0)
            made = [first.expand(2, 3), second * b]
        else:
            made = [a.sum() * b, gradwright.cat([a, b])[1:3]]
        tensors += [t.clamp(-50, 50) if t.shape == (2, 3) else t.expand(2, 3) for t in made]
    return tensors

def attempt(act):
    try:
        return act()
    except (RuntimeError, ValueError, IndexError) as error:
        return [type(error).__name__, str(error), getattr(error, "__notes__", None)]

for number in range(400):
    log.clear()
    leaves = [leaf((2, 3)) for _ in range(seed.randint(1, 4))]
    tensors = build(leaves)
    hooked = number % 4 != 0
    if hooked:
        add_hooks(tensors, leaves)
    out = [tensors[-1], seed.choice(tensors)][: seed.randint(1, 2)]
    grads = [gradwright.tensor(np.full((2, 3), float(seed.randint(1, 2)))) for _ in out]
    inputs = seed.sample(tensors, seed.randint(1, min(4, len(tensors))))
    kind = seed.randrange(5)
    result = None
    if kind == 0:
        result = attempt(lambda: gradwright.autograd.backward(out, grads))
    elif kind == 1:
        result = attempt(lambda: gradwright.autograd.backward(out, grads, inputs=inputs, retain_graph=True))
        result = [result, attempt(lambda: gradwright.autograd.backward(out, grads, inputs=inputs))]
    elif kind == 2:
        result = attempt(lambda: gradwright.autograd.grad(out, inputs, grads))
    elif kind == 3:
        result = attempt(lambda: gradwright.autograd.grad(out, inputs, grads, materialize_grads=True))
        result = [result, attempt(lambda: gradwright.autograd.grad(out, inputs, grads, allow_unused=True))]
    else:
        first = attempt(lambda: gradwright.autograd.grad(out, inputs, grads, create_graph=True, allow_unused=True))
        result = [first]
        again = [t for t in first if isinstance(t, gradwright.Tensor) and t.requires_grad]
        if again:
            ones = [gradwright.ones_like(t) for t in again]
            result.append(attempt(lambda: gradwright.autograd.grad(again, leaves, ones, allow_unused=True)))
    print(number, kind, show(result))
    for entry in log:
        print("  ", entry)
    for tensor in tensors:
        if tensor.is_leaf or tensor.retains_grad:
            print("   .grad", show(tensor.grad), None if tensor.grad is None else tensor.grad._version)
"""


@needs_core
def test_random_graphs_with_the_core_on_and_off() -> None:
    on, off = run(RANDOM_GRAPHS).splitlines(), run(RANDOM_GRAPHS, GRADWRIGHT_NATIVE="0").splitlines()
    assert len(on) > 1500
    assert sum("RuntimeError" in line for line in on) > 50
    assert on == off


# Gradients of what was broadcast, to the last bit.
BROADCASTS = """
import itertools
import numpy as np
import gradwright

random = np.random.default_rng(3)
sizes = [(2,), (3,), (8,), (33,), (2, 3), (1, 4), (5, 1), (7, 1, 2), (1,), ()]
for dtype, shape, lead in itertools.product(["float32", "float64"], sizes, [(1,), (5,), (64,), (3, 4), (130,), (0,)]):
    x = gradwright.tensor(random.normal(size=shape).astype(dtype)).requires_grad_()
    y = x + 1
    start = random.normal(size=lead + shape).astype(dtype)
    start[start < -1.5] = -0.0
    given = gradwright.tensor(start)
    other = gradwright.zeros(lead + shape, dtype=x.dtype)
    for target in (x, y):
        for transposed in (False, True):
            out = target + other
            start = given.t().contiguous().t() if transposed and given.dim() == 2 else given
            (found,) = gradwright.autograd.grad(out, target, start)
            print(dtype, shape, lead, found.shape, [float(v).hex() for v in found.detach().numpy().ravel()])
"""


@needs_core
def test_gradients_of_broadcasts_with_the_core_on_and_off() -> None:
    on, off = run(BROADCASTS).splitlines(), run(BROADCASTS, GRADWRIGHT_NATIVE="0").splitlines()
    assert len(on) == 2 * 10 * 6 * 4
    assert on == off
