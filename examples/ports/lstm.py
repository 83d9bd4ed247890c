"""An LSTM that adds up marked numbers of a sequence: packed sequences of different lengths, clipping, Adam."""

import gradwright as torch
from gradwright import nn
from gradwright.nn.utils import clip_grad_norm_
from gradwright.nn.utils.rnn import pack_padded_sequence


def sequences(count: int, longest: int = 9) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Numbers with a mark beside each, how many there are, and the sum of the marked ones."""
    lengths = torch.randint(4, longest + 1, (count,))
    numbers = torch.rand(count, longest)
    marks = torch.bernoulli(torch.full((count, longest), 0.4))
    inside = (torch.arange(longest) < lengths[:, None]).float()
    return torch.stack([numbers, marks], dim=2), lengths, (numbers * marks * inside).sum(1)


class Adder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, 24, num_layers=2, batch_first=True)
        self.out = nn.Linear(24, 1)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.out(hidden[-1]).squeeze(1)


def train(steps: int = 25) -> list[float]:
    """The losses."""
    torch.manual_seed(0)
    model = Adder()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    losses = []
    for _ in range(steps):
        x, lengths, target = sequences(32)
        loss = nn.functional.mse_loss(model(x, lengths), target)
        optimizer.zero_grad()
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(train())
