"""What the networks of the study learn. Everything is drawn from a seed, or is in scikit-learn; nothing is fetched.

A task draws (inputs, labels) for training, and has some that are never drawn for that. `chance` is the accuracy of
who always says the commonest label.
"""
import dataclasses
import functools
import typing

import torch
from torch.nn import functional

TEST_EXAMPLES = 2000


@dataclasses.dataclass
class Task:
    name: str
    labels: int
    draw: typing.Callable  # (count, generator): inputs, labels
    test: tuple

    @property
    def chance(self):
        labels = self.test[1].flatten()
        return torch.bincount(labels).max().item() / len(labels)


def generated(name, labels, draw):
    return Task(name, labels, draw, draw(TEST_EXAMPLES, torch.Generator().manual_seed(3)))


@functools.cache
def digits_of_scikit_learn():
    """1,797 handwritten digits of 8 x 8, in an order of its own: the first 1,200 to learn from, the others not."""
    from sklearn.datasets import load_digits
    loaded = load_digits()
    order = torch.randperm(len(loaded.target), generator=torch.Generator().manual_seed(1))
    images = torch.tensor(loaded.images, dtype=torch.float32)[order] / 16
    labels = torch.tensor(loaded.target)[order]
    return (images[:1200], labels[:1200]), (images[1200:], labels[1200:])


def placed(images, edge, noise, generator):
    """Each image somewhere in one of edge x edge, with noise."""
    count, height, width = images.shape
    large = noise * torch.randn(count, edge, edge, generator=generator)
    top, left = (torch.randint(edge - side + 1, (count, 1), generator=generator) for side in (height, width))
    rows, columns = top + torch.arange(height), left + torch.arange(width)
    at = torch.arange(count).view(-1, 1, 1), rows.unsqueeze(2), columns.unsqueeze(1)
    large[at] += images
    return large


@functools.cache
def digits(edge, noise, times):
    """Digits in noise, placed anywhere in a larger image; those for the test come `times` times."""
    (images, labels), (test_images, test_labels) = digits_of_scikit_learn()

    def draw(count, generator):
        chosen = torch.randint(len(labels), (count,), generator=generator)
        return placed(images[chosen], edge, noise, generator).unsqueeze(1), labels[chosen]

    test = placed(test_images.repeat(times, 1, 1), edge, noise, torch.Generator().manual_seed(3)).unsqueeze(1)
    return Task("digits", 10, draw, (test, test_labels.repeat(times)))


@functools.cache
def teacher(inputs=64, hidden=64, labels=10):
    """Which of ten outputs of a network with drawn weights is the largest."""
    generator = torch.Generator().manual_seed(1)
    first = torch.randn(inputs, hidden, generator=generator) / inputs ** 0.5
    second = torch.randn(hidden, labels, generator=generator) / hidden ** 0.5
    mean = torch.relu(torch.randn(4096, inputs, generator=generator) @ first).mean(0)

    def draw(count, generator):
        x = torch.randn(count, inputs, generator=generator)
        return x, ((torch.relu(x @ first) - mean) @ second).argmax(-1)

    return generated("teacher", labels, draw)


@functools.cache
def sorting(numbers=16, length=12):
    """A sequence, and the same in ascending order."""
    def draw(count, generator):
        sequence = torch.randint(numbers, (count, length), generator=generator)
        return sequence, sequence.sort(dim=1).values

    return generated("sorting", numbers, draw)


@functools.cache
def addition(digits_in_number=8, base=10):
    """Digits of two numbers side by side, the lowest first, as one symbol; the digits of their sum, carried on."""
    def draw(count, generator):
        one, other = (torch.randint(base, (count, digits_in_number), generator=generator) for _ in range(2))
        carried, sums = torch.zeros(count, dtype=torch.long), []
        for at in range(digits_in_number):
            sums.append(one[:, at] + other[:, at] + carried)
            carried = sums[-1] // base
        return one * base + other, torch.stack(sums, dim=1) % base

    return generated("addition", base, draw)


@functools.cache
def delayed(numbers=16, length=16, delay=4):
    """A sequence, and at each place the number some places before it plus this one, modulo their count."""
    def draw(count, generator):
        sequence = torch.randint(numbers, (count, length), generator=generator)
        return sequence, (sequence + functional.pad(sequence, (delay, 0))[:, :-delay]) % numbers

    return generated("delayed", numbers, draw)
