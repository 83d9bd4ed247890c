"""A linear layer with a backward of its own, as a Module, trained for a few steps."""

import gradwright as torch
from gradwright import nn
from gradwright.autograd import Function
from gradwright.autograd.function import once_differentiable


class LinearFunction(Function):
    """`input @ weight.T + bias`."""

    @staticmethod
    def forward(ctx, input, weight, bias=None):
        ctx.save_for_backward(input, weight, bias)
        output = input.mm(weight.t())
        return output if bias is None else output + bias.unsqueeze(0).expand_as(output)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        input, weight, bias = ctx.saved_tensors
        grad_input = grad_output.mm(weight) if ctx.needs_input_grad[0] else None
        grad_weight = grad_output.t().mm(input) if ctx.needs_input_grad[1] else None
        grad_bias = grad_output.sum(0) if bias is not None and ctx.needs_input_grad[2] else None
        return grad_input, grad_weight, grad_bias


class Linear(nn.Module):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.register_parameter("bias", nn.Parameter(torch.zeros(out_features)) if bias else None)
        nn.init.kaiming_uniform_(self.weight, nonlinearity="relu")

    def forward(self, input):
        return LinearFunction.apply(input, self.weight, self.bias)


def train(model, inputs, targets, steps=20):
    """The loss before each step of gradient descent with momentum."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(0)
    model = nn.Sequential(Linear(3, 16), nn.ReLU(), Linear(16, 1, bias=False))
    inputs = torch.linspace(-1, 1, 96).reshape(32, 3)
    targets = (inputs * torch.tensor([1.0, -2.0, 0.5])).sum(1, keepdim=True).sin()
    losses = train(model, inputs, targets)
    assert losses[-1] < losses[0] / 5
    print(f"the loss went from {losses[0]:.3f} to {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
