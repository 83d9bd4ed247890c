"""An operator made of a NumPy function: its derivative, its check, and its name under `torch.ops`."""

import numpy as np

import gradwright as torch


@torch.library.custom_op("example::softsign", mutates_args=())
def softsign(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    """`scale * x / (1 + |x|)`."""
    array = x.numpy()
    return torch.from_numpy(scale * array / (1 + np.abs(array)))


def setup_context(ctx, inputs, output):
    x, ctx.scale = inputs
    ctx.save_for_backward(x)


def backward(ctx, grad):
    # Made of operators, so it can be differentiated again.
    (x,) = ctx.saved_tensors
    return grad * ctx.scale / (1 + x.abs()) ** 2, None


softsign.register_autograd(backward, setup_context=setup_context)
softsign.register_fake(lambda x, scale=1.0: torch.empty_like(x))

x = torch.tensor([-2.0, 0.5, 3.0], dtype=torch.float64, requires_grad=True)
y = softsign(x, scale=2.0)
print("schema: ", torch.ops.example.softsign.default._schema)
print("softsign:", y.tolist())
(slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
print("slope:   ", slope.tolist())

assert torch.autograd.gradcheck(softsign, (x, 2.0))
assert torch.autograd.gradgradcheck(softsign, (x, 2.0))
checks = ("test_schema", "test_autograd_registration", "test_faketensor")
assert set(torch.library.opcheck(softsign, (x, 2.0), test_utils=checks).values()) == {"SUCCESS"}

# A kernel in place of a built-in one, for as long as the library lives.
library = torch.library.Library("aten", "IMPL")
library.impl("hypot", lambda a, b: a.abs() + b.abs(), "CPU")
print("hypot:   ", torch.hypot(torch.tensor([3.0]), torch.tensor([4.0])).tolist())
