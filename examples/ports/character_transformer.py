"""A small transformer that learns a text character by character: embeddings, masked attention, layer norm, AdamW."""

import gradwright as torch
from gradwright import nn
from gradwright.nn import functional as F

TEXT = "the quick brown fox jumps over the lazy dog and the dog sleeps while the fox runs over the hill " * 4
LETTERS = sorted(set(TEXT))


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(0.1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, width = x.shape
        parts = self.qkv(self.first(x)).view(b, t, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, width))
        return x + self.mlp(self.second(x))


class Model(nn.Module):
    def __init__(self, width: int = 32, length: int = 24) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(len(LETTERS), width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, len(LETTERS), bias=False)
        self.head.weight = self.letters.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.letters(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def train(steps: int = 25, length: int = 24) -> list[float]:
    """The losses."""
    torch.manual_seed(0)
    data = torch.tensor([LETTERS.index(letter) for letter in TEXT])
    model = Model(length=length)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(steps):
        starts = torch.randint(len(data) - length - 1, (16,))
        rows = torch.stack([data[start : start + length + 1] for start in starts.tolist()])
        logits = model(rows[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, len(LETTERS)), rows[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(train())
