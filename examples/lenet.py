"""LeNet on handwritten digits: convolutions, pooling, batch normalization, and a picture of what it gets wrong."""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_digits

import gradwright as torch
from gradwright import nn

torch.manual_seed(0)
digits = load_digits()
images = torch.tensor(digits.images[:, None].astype(np.float32) / 16)
labels = torch.tensor(digits.target)
order = np.random.default_rng(0).permutation(len(labels))
training, testing = order[:1437], order[1437:]


class LeNet(nn.Module):
    """Two convolutions that pool, and two affine maps, for images of 8 by 8."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 12, 3, padding=1),
            nn.BatchNorm2d(12),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1),
            nn.ReLU(),
            nn.AvgPool2d(2),
        )
        self.classes = nn.Sequential(nn.Flatten(), nn.Linear(24 * 2 * 2, 48), nn.ReLU(), nn.Linear(48, 10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A number for each class."""
        return self.classes(self.features(x))


model = LeNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
random = np.random.default_rng(1)

for epoch in range(8):
    model.train()
    losses = []
    for batch in np.split(random.permutation(training)[:1408], 22):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        found = model(images[testing]).argmax(1)
    right = (found == labels[testing]).float().mean().item()
    print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {right:.1%} of the other digits right")

assert right > 0.95

if len(sys.argv) > 2 and sys.argv[1] == "--picture":
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    wrong = [i for i in range(len(testing)) if found[i].item() != labels[testing][i].item()]
    shown = [*wrong, *range(len(testing))][:16]
    figure, cells = plt.subplots(2, 8, figsize=(8, 2.4))
    for cell, i in zip(cells.flat, shown, strict=True):
        cell.imshow(digits.images[testing[i]], cmap="gray_r")
        cell.set_title(str(found[i].item()), color="red" if i in wrong else "black")
        cell.axis("off")
    figure.savefig(sys.argv[2], dpi=120, bbox_inches="tight")
