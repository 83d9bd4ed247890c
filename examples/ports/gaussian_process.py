"""A Gaussian process: the marginal likelihood by Cholesky, maximised by Adam, and the posterior."""

import math

import gradwright as torch
from gradwright import nn


class GaussianProcess(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.log_length = nn.Parameter(torch.zeros(()))
        self.log_scale = nn.Parameter(torch.zeros(()))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def kernel(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        distance = torch.cdist(a, b) if a is not b else (a - b.mT).abs()
        return self.log_scale.exp() * torch.exp(-0.5 * (distance / self.log_length.exp()) ** 2)

    def factor(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.cholesky(self.kernel(x, x) + (self.log_noise.exp() + 1e-5) * torch.eye(len(x)))

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        lower = self.factor(x)
        white = torch.linalg.solve_triangular(lower, y[:, None], upper=False)
        return 0.5 * white.pow(2).sum() + lower.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)

    def predict(self, x: torch.Tensor, y: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        weights = torch.cholesky_solve(y[:, None], self.factor(x))
        return (self.kernel(at, x) @ weights)[:, 0]


def train(steps: int = 40) -> list[float]:
    """The losses for each observation, and at the end the error of the posterior's mean."""
    torch.manual_seed(0)
    x = torch.rand(30, 1) * 6
    y = torch.sin(x[:, 0]) + 0.1 * torch.randn(30)
    model = GaussianProcess()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = []
    for _ in range(steps):
        loss = model.loss(x, y) / len(x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    at = torch.linspace(0.5, 5.5, 20)[:, None]
    with torch.no_grad():
        losses.append((model.predict(x, y, at) - torch.sin(at[:, 0])).abs().max().item())
    return losses


if __name__ == "__main__":
    print(train())
