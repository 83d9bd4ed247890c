"""A small image classifier of bars in noise: convolutions, batch norm, pooling, dropout, SGD with momentum."""

import gradwright as torch
from gradwright import nn
from gradwright.nn import functional as F


def images(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Bars that stand, lie or cross, at random places in noise."""
    labels = torch.randint(3, (count,))
    pictures = 0.3 * torch.randn(count, 1, 12, 12)
    places = torch.randint(2, 10, (count, 2))
    for picture, label, (row, column) in zip(pictures, labels.tolist(), places.tolist(), strict=True):
        if label != 0:
            picture[0, row] += 1
        if label != 1:
            picture[0, :, column] += 1
    return pictures, labels


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(x))


def train(steps: int = 15) -> list[float]:
    """The losses, and at the end the part of new images that is told right."""
    torch.manual_seed(0)
    model = Classifier()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    losses = []
    for _ in range(steps):
        x, y = images(32)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        x, y = images(100)
        losses.append((model(x).argmax(1) == y).float().mean().item())
    return losses


if __name__ == "__main__":
    print(train())
