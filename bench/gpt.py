"""A small GPT: a step of its training, and text that it continues."""

from __future__ import annotations

from typing import Any

# The size of a batch, the letters of a text, the numbers of a letter, heads, blocks, and the letters there are.
BATCH, LENGTH, WIDTH, HEADS, BLOCKS, LETTERS = 16, 32, 48, 3, 3, 65


def model(library: Any) -> Any:
    """Embeddings, blocks of attention and of a small network, and a linear map to the letters."""
    nn, functional = library.nn, library.nn.functional

    class Block(nn.Module):  # type: ignore[name-defined, misc]  # of either library
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.wide, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
            self.dropout = nn.Dropout(0.1)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            heads = [
                each.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
                for each in self.qkv(self.first(x)).split(width, dim=2)
            ]
            mixed = functional.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.dropout(self.out(mixed.transpose(1, 2).contiguous().view(batch, length, width)))
            return x + self.dropout(self.narrow(functional.gelu(self.wide(self.second(x)))))

    class Model(nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.letters, self.places = nn.Embedding(LETTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, LETTERS, bias=False)

        def forward(self, letters: Any) -> Any:
            x = self.letters(letters) + self.places(library.arange(letters.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    return Model()


def training_step(library: Any) -> Any:
    """A function that takes one step of AdamW, gradients clipped."""
    library.manual_seed(0)
    gpt = model(library)
    optimizer = library.optim.AdamW(gpt.parameters(), lr=3e-4)
    text = library.randint(0, LETTERS, (BATCH, LENGTH + 1))

    def step() -> None:
        logits = gpt(text[:, :-1])
        loss = library.nn.functional.cross_entropy(logits.reshape(-1, LETTERS), text[:, 1:].reshape(-1))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        library.nn.utils.clip_grad_norm_(gpt.parameters(), 1.0)
        optimizer.step()

    return step


def generation(library: Any) -> Any:
    """A function that draws a text, letter by letter, from the ten most likely ones."""
    library.manual_seed(0)
    gpt = model(library).eval()

    def generate() -> None:
        text = library.zeros(1, 1, dtype=library.int64)
        with library.no_grad():
            for _ in range(LENGTH - 1):
                logits, places = library.topk(gpt(text)[:, -1, :], 10)
                drawn = library.multinomial(library.nn.functional.softmax(logits, dim=-1), 1)
                text = library.cat((text, places.gather(1, drawn)), dim=1)

    return generate
