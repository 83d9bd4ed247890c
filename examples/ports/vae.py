"""A variational autoencoder of points on a ring: the reparametrisation trick and the divergence in closed form."""

import math

import gradwright as torch
from gradwright import nn
from gradwright.nn import functional as F


class VAE(nn.Module):
    def __init__(self, latent: int = 2) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 32), nn.SiLU(), nn.Linear(32, 8))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        mean, log_variance = self.encoder(x).chunk(2, dim=-1)
        z = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
        divergence = -0.5 * (1 + log_variance - mean.pow(2) - log_variance.exp()).sum(-1).mean()
        return self.decoder(z), divergence


def data(count: int, mixing: torch.Tensor) -> torch.Tensor:
    angle = torch.rand(count) * 2 * math.pi
    return torch.stack([angle.cos(), angle.sin()], dim=1) @ mixing + 0.05 * torch.randn(count, 8)


def train(steps: int = 40) -> list[float]:
    """The losses."""
    torch.manual_seed(0)
    mixing = torch.randn(2, 8)
    model = VAE()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    losses = []
    for _ in range(steps):
        x = data(64, mixing)
        out, divergence = model(x)
        loss = F.mse_loss(out, x, reduction="sum") / len(x) + 0.05 * divergence
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(train())
