"""The networks of the study. Pruned are the weights that `pruned_of` names: not the first convolution, which has nine
columns, not embeddings, and not the last layer, whose rows are the labels."""
import torch
from torch import nn
from torch.nn import functional

import tasks


class Mlp(nn.Sequential):
    def __init__(self, inputs, labels, hidden=256):
        super().__init__(nn.Flatten(), nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(),
                         nn.Linear(hidden, labels))


class Cnn(nn.Sequential):
    def __init__(self, edge, labels):
        left = edge // 4
        super().__init__(nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(),
                         nn.Conv2d(32, 64, 3, stride=2, padding=1), nn.ReLU(),
                         nn.Conv2d(64, 128, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(),
                         nn.Linear(128 * left * left, 128), nn.ReLU(), nn.Linear(128, labels))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))

    def forward(self, x):
        normed = self.norm1(x)
        query, key, value = (layer(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for layer in (self.query, self.key, self.value))
        mixed = functional.scaled_dot_product_attention(query, key, value)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.feed(self.norm2(x))


class Transformer(nn.Module):
    """Sees the whole sequence."""

    def __init__(self, symbols, length, labels, width=128, heads=4):
        super().__init__()
        self.embed, self.place = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(Block(width, heads), Block(width, heads))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, labels)

    def forward(self, numbers):
        x = self.embed(numbers) + self.place(torch.arange(numbers.shape[1], device=numbers.device))
        return self.head(self.norm(self.blocks(x)))


class Lstm(nn.Module):
    def __init__(self, symbols, labels, width=64, hidden=128):
        super().__init__()
        self.embed, self.cell = nn.Embedding(symbols, width), nn.LSTM(width, hidden, batch_first=True)
        self.head = nn.Linear(hidden, labels)

    def forward(self, numbers):
        return self.head(self.cell(self.embed(numbers))[0])
