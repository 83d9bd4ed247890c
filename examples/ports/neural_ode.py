"""A neural ODE: Runge and Kutta's method through a network, and the adjoint equation in its backward."""

import gradwright as torch
from gradwright import nn


class Field(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return self.net(y)


def step(field, y, h: float):
    """One step of the fourth order."""
    a = field(y)
    b = field(y + h / 2 * a)
    c = field(y + h / 2 * b)
    d = field(y + h * c)
    return y + h / 6 * (a + 2 * b + 2 * c + d)


class Solve(torch.autograd.Function):
    """The state after some steps; backward goes back through them one by one and keeps none of their graphs."""

    @staticmethod
    def forward(ctx, field, steps, h, y, *parameters):
        ctx.field, ctx.h = field, h
        states = [y]
        for _ in range(steps):
            states.append(step(field, states[-1], h))
        ctx.save_for_backward(*states)
        return states[-1]

    @staticmethod
    def backward(ctx, adjoint):
        parameters = tuple(ctx.field.parameters())
        totals = [torch.zeros_like(p) for p in parameters]
        for state in reversed(ctx.saved_tensors[:-1]):
            with torch.enable_grad():
                start = state.detach().requires_grad_()
                end = step(ctx.field, start, ctx.h)
            adjoint, *grads = torch.autograd.grad(end, (start, *parameters), adjoint)
            totals = [total + grad for total, grad in zip(totals, grads, strict=True)]
        return None, None, None, adjoint, *totals


def train(steps: int = 25) -> list[float]:
    """The losses of learning a spiral."""
    torch.manual_seed(0)
    matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    field = Field()
    optimizer = torch.optim.RMSprop(field.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        y = torch.randn(32, 2)
        target = y
        for _ in range(5):
            target = step(lambda v: v @ matrix.T, target, 0.1)
        out = Solve.apply(field, 5, 0.1, y, *field.parameters())
        loss = (out - target).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(train())
