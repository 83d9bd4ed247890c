"""A small transformer that learns to write Python's documentation, a letter at a time, and what its heads look at."""

from __future__ import annotations

import math
import sys
from pydoc_data.topics import topics

import numpy as np

import gradwright as torch
from gradwright import nn

torch.manual_seed(0)
random = np.random.default_rng(0)
text = " ".join("".join(topics.values()).split())[:200_000]
letters = sorted(set(text))
numbers = {letter: number for number, letter in enumerate(letters)}
codes = np.array([numbers[letter] for letter in text])
LENGTH, WIDTH, HEADS, BATCH, STEPS = 32, 64, 4, 32, 120


class Block(nn.Module):
    """Each place looks at those before it, and thinks for itself about what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.asks, self.gives = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.thinks = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def heads(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Queries, keys and values, each (batch, heads, places, width of a head)."""
        batch, places, _ = x.shape
        parts = self.asks(self.before(x)).chunk(3, -1)
        return tuple(part.reshape(batch, places, HEADS, WIDTH // HEADS).transpose(1, 2) for part in parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """What was seen and thought is added to what was there."""
        seen = nn.functional.scaled_dot_product_attention(*self.heads(x), is_causal=True)
        x = x + self.gives(seen.transpose(1, 2).reshape(x.shape))
        return x + self.thinks(self.between(x))


class Writer(nn.Module):
    """A number for each letter that may come next, at each place."""

    def __init__(self) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(len(letters), WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(Block(), Block())
        self.last, self.next = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, len(letters))

    def begin(self, x: torch.Tensor) -> torch.Tensor:
        """What the blocks are given: which letter stands at which place."""
        return self.letters(x) + self.places(torch.arange(x.shape[1]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.next(self.last(self.blocks(self.begin(x))))


def batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Pieces of the text, and the same a letter further on."""
    starts = random.integers(0, len(codes) - LENGTH, BATCH)[:, None]
    pieces = torch.tensor(codes[starts + np.arange(LENGTH + 1)])
    return pieces[:, :-1], pieces[:, 1:]


model = Writer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
losses = []
for step in range(STEPS):
    x, y = batch()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    optimizer.step()
    schedule.step()
    losses.append(loss.item() / math.log(2))
    if step % 40 == 39:
        print(f"step {step + 1}: {np.mean(losses[-40:]):.2f} bits for a letter")

# What each letter would cost if one knew only how frequent it is.
frequent = np.bincount(codes) / len(codes)
alone = -(frequent * np.log2(frequent)).sum()
print(f"of letters by themselves: {alone:.2f} bits")

written = "The "
with torch.no_grad():
    while len(written) < 80:
        known = torch.tensor([[numbers[letter] for letter in written[-LENGTH:]]])
        chances = (model(known)[0, -1] * 1.5).softmax(0)
        written += letters[torch.multinomial(chances, 1).item()]
print(repr(written))

assert np.mean(losses[-20:]) < alone - 0.8

if len(sys.argv) > 2 and sys.argv[1] == "--picture":
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    phrase = "The following statement is a"
    with torch.no_grad():
        start = model.begin(torch.tensor([[numbers[letter] for letter in phrase]]))
        queries, keys, _ = model.blocks[1].heads(model.blocks[0](start))
        scores = queries @ keys.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)
        hidden = torch.ones(len(phrase), len(phrase), dtype=torch.bool).triu(1)
        looks = scores.masked_fill(hidden, -math.inf).softmax(-1)[0]
    figure, cells = plt.subplots(1, 3, figsize=(9, 2.8), width_ratios=[1.3, 1, 1])
    cells[0].plot(losses, linewidth=1)
    cells[0].axhline(alone, color="gray", linestyle=":")
    cells[0].set(xlabel="step", ylabel="bits for a letter", title="what the next letter costs")
    for head, cell in enumerate(cells[1:]):
        cell.imshow(looks[head].numpy(), cmap="Blues")
        cell.set_xticks(range(len(phrase)), phrase, fontsize=6)
        cell.set_yticks(range(len(phrase)), phrase, fontsize=6)
        cell.set_title(f"where head {head + 1} looks")
    figure.savefig(sys.argv[2], dpi=90, bbox_inches="tight")
