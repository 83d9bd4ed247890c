"""Gradients of each sample by vmap of grad: clipped one by one and made noisy, as private learning does."""

import gradwright as torch
from gradwright import nn
from gradwright.func import functional_call, grad, vmap


def train(steps: int = 12, largest: float = 0.5, noise: float = 0.01) -> list[float]:
    """The losses."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    parameters = {name: value.detach().clone() for name, value in model.named_parameters()}

    def loss_of(parameters: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = functional_call(model, parameters, (x.unsqueeze(0),))
        return nn.functional.cross_entropy(out, y.unsqueeze(0))

    each = vmap(grad(loss_of), in_dims=(None, 0, 0))
    losses = []
    for _ in range(steps):
        x = torch.randn(48, 4)
        y = (x[:, 0] * x[:, 1] > 0).long()
        losses.append(vmap(loss_of, in_dims=(None, 0, 0))(parameters, x, y).mean().item())
        grads = each(parameters, x, y)
        squares = torch.stack([value.flatten(1).pow(2).sum(1) for value in grads.values()])
        factors = (largest / squares.sum(0).sqrt()).clamp(max=1.0)
        for name, value in grads.items():
            clipped = torch.einsum("n,n...->...", factors, value) / len(x)
            parameters[name] -= 2.0 * (clipped + noise * torch.randn_like(clipped))
    return losses


if __name__ == "__main__":
    print(train())
