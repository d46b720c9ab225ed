#!/usr/bin/env python3
"""Trains two small networks, prunes nine tenths of their weights, and saves them for weft.

    train_networks.py FOLDER [--threads 16] [--only cnn]
    train_networks.py FOLDER --weft build/release/weft --format shfl_bw:V=16 --sparsity 0.75

With --weft, `weft prune` chooses once which weights stay, and the network is trained on with these.

FOLDER/cnn tells ten kinds of generated images of 28 x 28 apart; FOLDER/transformer, of two blocks, adds each number
of a sequence to the one before it, modulo 8. Each has model.safetensors, network.json, and test.safetensors with
`input`, `output` and `label`, which is where the output is largest when it is right. Nothing is downloaded; on one
machine every run makes the same. Prints accuracies before and after; ends with 1 where too much is lost.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

import torch
from torch import nn
from torch.nn import functional
from torch.nn.utils import prune

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import weft_trace  # noqa: E402: found beside this checkout

SPARSITY = 0.9
LOSS_ALLOWED = 0.03
MODULUS, LENGTH = 8, 32


def images_of(count, generator):
    """Bars in five directions, thin and wide, somewhere in noise."""
    label = torch.randint(10, (count,), generator=generator)
    angle = (label % 5) * (math.pi / 5) + 0.1 * torch.randn(count, generator=generator)
    width = torch.where(label < 5, 1.2, 3.2) + 0.2 * torch.rand(count, generator=generator)
    x, y = (14 + 4 * torch.randn(count, generator=generator) for _ in range(2))
    rows, columns = torch.meshgrid(torch.arange(28.0), torch.arange(28.0), indexing="ij")
    sine, cosine = (one.view(-1, 1, 1) for one in (angle.sin(), angle.cos()))
    dy, dx = rows - y.view(-1, 1, 1), columns - x.view(-1, 1, 1)
    across, along = (cosine * dy - sine * dx).abs(), (sine * dy + cosine * dx).abs()
    bar = torch.sigmoid(3 * (width.view(-1, 1, 1) - across)) * torch.sigmoid(2 * (10 - along))
    image = bar + 0.25 * torch.randn(count, 28, 28, generator=generator)
    return image.unsqueeze(1), label


def sequences_of(count, generator):
    """Numbers, and at each place the sum modulo MODULUS of that one and the one before it."""
    numbers = torch.randint(MODULUS, (count, LENGTH), generator=generator)
    return numbers, (numbers + functional.pad(numbers, (1, 0))[:, :-1]) % MODULUS


def convolutional():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        normed = self.norm1(x)
        query, key, value = (layer(normed).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                             for layer in (self.query, self.key, self.value))
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.feed(self.norm2(x))


class Transformer(nn.Module):
    def __init__(self, width=256, heads=8):
        super().__init__()
        self.embed, self.place = nn.Embedding(MODULUS, width), nn.Embedding(LENGTH, width)
        self.blocks = nn.Sequential(Block(width, heads), Block(width, heads))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, MODULUS)

    def forward(self, numbers):
        x = self.embed(numbers) + self.place(torch.arange(numbers.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def accuracy(model, inputs, labels):
    model.eval()
    with torch.no_grad():
        right = model(inputs).argmax(-1) == labels
    model.train()
    return right.float().mean().item()


def train(model, draw, steps, rate, generator, at_step=lambda step: None):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        at_step(step)
        inputs, labels = draw(64, generator)
        loss = functional.cross_entropy(model(inputs).flatten(0, -2), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()


def pruned_to(layer, share):
    """The layer with the smallest weights masked, so that this share is zero. Zeros stay zeros."""
    weight = layer.weight_orig.detach() * layer.weight_mask if prune.is_pruned(layer) else layer.weight.detach()
    kept = weight.numel() - round(share * weight.numel())
    mask = torch.zeros(weight.numel()).index_fill_(0, weight.abs().flatten().topk(kept).indices, 1).view_as(weight)
    if prune.is_pruned(layer):
        layer.weight_mask.copy_(layer.weight_mask * mask)
    else:
        prune.custom_from_mask(layer, "weight", mask)


def prune_while_training(model, layers, draw, steps, rate, generator):
    """To SPARSITY over the first half, fast at first; the other half is for what is left."""
    rounds = 12

    def at_step(step):
        every = steps // 2 // rounds
        if step % every == 0 and step // every < rounds:
            done = (step // every + 1) / rounds
            for layer in layers:
                pruned_to(layer, SPARSITY * (1 - (1 - done) ** 3))

    train(model, draw, steps, rate, generator, at_step)


def prune_by_weft(model, layers, draw, steps, rate, generator, by):
    """Masks from what `weft prune` writes, then as many steps with them."""
    with tempfile.TemporaryDirectory() as work:
        file, pruned = pathlib.Path(work) / "dense.safetensors", pathlib.Path(work) / "pruned.safetensors"
        write_tensors(file, {f"{i}.weight": layer.weight.detach() for i, layer in enumerate(layers)})
        subprocess.run([by.weft, "prune", file, "--all", "--format", by.format, "-o", pruned]
                       + (["--sparsity", str(by.sparsity)] if by.sparsity else []), check=True)
        for i, kept in enumerate(read_tensors(pruned, [f"{i}.weight" for i in range(len(layers))])):
            prune.custom_from_mask(layers[i], "weight", (kept != 0).float())
    train(model, draw, steps, rate, generator)


def make(name, model, draw, layers, steps, rate, folder, by=None):
    """Returns whether the pruned network is nearly as good."""
    begin = time.perf_counter()
    generator = torch.Generator().manual_seed(2)
    inputs, labels = draw(2048, torch.Generator().manual_seed(3))
    train(model, draw, steps, rate, generator)
    before = accuracy(model, inputs, labels)
    if by is None:
        prune_while_training(model, layers, draw, steps, rate / 2, generator)
    else:
        prune_by_weft(model, layers, draw, steps, rate / 2, generator, by)
    after = accuracy(model, inputs, labels)
    zeros = sum(int((layer.weight == 0).sum()) for layer in layers) / sum(layer.weight.numel() for layer in layers)
    model.eval()
    example, right = inputs[:64], labels[:64]
    with torch.no_grad():
        output = model(example)
    network = weft_trace.save(model, example, folder)
    write_tensors(folder / "test.safetensors", {"input": example, "output": output, "label": right})
    print(f"{name}: accuracy {before:.4f} before, {after:.4f} with {100 * zeros:.1f} % of the weights of {len(layers)} "
          f"layers zero; {len(network['layers'])} layers in {folder}; {time.perf_counter() - begin:.0f} s", flush=True)
    return after >= before - LOSS_ALLOWED and before > 0.9


def write_tensors(path, tensors):
    """Beside the network, in the same form: readers need nothing of numpy."""
    weft_trace._write_file(str(path), {name: (tensor, None) for name, tensor in tensors.items()})


def read_tensors(path, names):
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    for name in names:
        begin, end = header[name]["data_offsets"]
        yield torch.frombuffer(bytearray(content[8 + length + begin:8 + length + end]), dtype=torch.float32).view(
            header[name]["shape"])


def make_cnn(folder, by=None):
    torch.manual_seed(1)
    cnn = convolutional()
    # The first convolution and the last layer are small, and lose most.
    return make("cnn", cnn, images_of, [cnn[i] for i in (2, 4, 6, 10)], 500, 2e-3, folder / "cnn", by)


def make_transformer(folder, by=None):
    torch.manual_seed(1)
    transformer = Transformer()
    layers = [one for one in transformer.blocks.modules() if isinstance(one, nn.Linear)]
    return make("transformer", transformer, sequences_of, layers, 800, 2e-3, folder / "transformer", by)


def main():
    parser = argparse.ArgumentParser(description="Trains and prunes two small networks, and saves them for weft.")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--only", choices=["cnn", "transformer"])
    parser.add_argument("--weft", help="the command, which prunes once")
    parser.add_argument("--format", default="n_m", help="for which it prunes")
    parser.add_argument("--sparsity", type=float)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.use_deterministic_algorithms(True)
    made = {"cnn": make_cnn, "transformer": make_transformer}
    names = [options.only] if options.only else list(made)
    good = [made[name](options.folder, options if options.weft else None) for name in names]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
