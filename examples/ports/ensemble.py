"""Five networks trained as one: their parameters are stacked, and vmap runs over them."""

import copy

import gradwright as torch
from gradwright import nn
from gradwright.func import functional_call, grad_and_value, stack_module_state, vmap


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 1))


def train(steps: int = 40, members: int = 5) -> list[float]:
    """The mean losses, and at the end how far the members are from each other where no data was."""
    torch.manual_seed(0)
    models = [network() for _ in range(members)]
    parameters, buffers = stack_module_state(models)
    parameters = {name: value.detach() for name, value in parameters.items()}
    base = copy.deepcopy(models[0])

    def loss_of(parameters: dict, buffers: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return nn.functional.mse_loss(functional_call(base, (parameters, buffers), (x,)), y)

    step_of_all = vmap(grad_and_value(loss_of), in_dims=(0, 0, 0, 0))
    losses = []
    for _ in range(steps):
        x = torch.rand(members, 20, 1) * 2 - 1
        y = torch.sin(3 * x) + 0.1 * torch.randn_like(x)
        grads, values = step_of_all(parameters, buffers, x, y)
        parameters = {name: value - 0.2 * grads[name] for name, value in parameters.items()}
        losses.append(values.mean().item())
    far = torch.tensor([[3.0], [-3.0]])
    predictions = vmap(lambda p, b: functional_call(base, (p, b), (far,)))(parameters, buffers)
    losses.append(predictions.std(0).mean().item())
    return losses


if __name__ == "__main__":
    print(train())
