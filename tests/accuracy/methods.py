"""Ways to prune a trained network with as many further steps each: all at once, gradually (Zhu and Gupta 2017), Grow
and Prune (Ma et al. 2021) and ADMM (Zhang et al. 2018). Each asks weft which weights stay."""
import re

import torch
from torch.nn import functional

import patterns

COLUMNS_OF_BLOCKS = (4, 8, 10, 16, 20, 32, 40, 100)  # M that v_n_m may have
PRUNINGS = 6  # in the first half of the steps; the other half is for what is left


def accuracy(model, task):
    model.eval()
    inputs, labels = task.test
    device = next(model.parameters()).device
    with torch.no_grad():
        right = model(inputs.to(device)).argmax(-1).cpu() == labels
    model.train()
    return right.float().mean().item()


def trained(model, task, steps, batch, rate, generator, before_step=None, on_gradients=None, masks=None):
    """Trains in place. Weights with a mask are multiplied by it after each step; hooks may change the masks."""
    masks = {} if masks is None else masks
    weights = dict(model.named_parameters())
    device = next(model.parameters()).device
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01, fused=device.type in ("cpu", "cuda"))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        if before_step:
            before_step(step)
        inputs, labels = (one.to(device) for one in task.draw(batch, generator))
        loss = functional.cross_entropy(model(inputs).flatten(0, -2), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        if on_gradients:
            on_gradients()
        optimizer.step()
        schedule.step()
        with torch.no_grad():
            for name, mask in masks.items():
                weights[name].mul_(mask)


class Pruner:
    """Asks weft for the masks of a network's weights, and puts them in force."""

    def __init__(self, weft, model, names):
        self.weft = weft
        self.weights = {name: weight for name, weight in model.named_parameters() if name in names}
        self.masks = {}  # those in force
        self.chosen = None  # what weft said last

    def choose(self, pattern, sparsity, values=None):
        return patterns.Chosen(self.weft, values or self.weights, pattern, sparsity)

    def prune(self, pattern, sparsity, names=None):
        """All weights, or those with these names; `chosen` has what is in force of all."""
        chosen = self.choose(pattern, sparsity, {name: self.weights[name] for name in names or self.weights})
        if names is None:
            self.chosen = chosen
        else:
            for ours, theirs in ((self.chosen.masks, chosen.masks), (self.chosen.kept_scores, chosen.kept_scores),
                                 (self.chosen.row_orders, chosen.row_orders)):
                ours.update(theirs)
        with torch.no_grad():
            for name in chosen.masks:
                self.masks[name] = chosen.masks[name].to(self.weights[name].device)
                self.weights[name].mul_(self.masks[name])


def gradual_pattern(pattern, sparsity):
    """What has this sparsity on the way to the pattern: those of fixed sparsity come by the ones before them."""
    own = patterns.own_sparsity(pattern)
    if own is None or sparsity >= own - 1e-9:
        return pattern
    if pattern == "n_m" or sparsity < 0.5:
        return "csr"
    rows = re.fullmatch(r"v_n_m:V=(\d+),M=\d+", pattern).group(1)
    return f"v_n_m:V={rows},M={max(m for m in COLUMNS_OF_BLOCKS if 1 - 2 / m <= sparsity + 1e-9)}"


def one_shot(pruner, pattern, sparsity, steps, fine_tune):
    """All at once, then the steps with what is left."""
    pruner.prune(pattern, sparsity)
    fine_tune()


def gradual(pruner, pattern, sparsity, steps, fine_tune):
    """More at every pruning, fast at first, by the cubic schedule."""
    every = steps // 2 // PRUNINGS

    def before_step(step):
        number = step // every + 1
        if step % every == 0 and number <= PRUNINGS:
            now = sparsity * (1 - (1 - number / PRUNINGS) ** 3)
            pruner.prune(gradual_pattern(pattern, now), now)

    fine_tune(before_step=before_step)


def grow_and_prune(pruner, pattern, sparsity, steps, fine_tune):
    """Parts of the network in turns: one grows dense and learns while the others are sparse, and is pruned anew."""
    names = list(pruner.weights)
    count = min(3, len(names))
    parts = [names[len(names) * at // count:len(names) * (at + 1) // count] for at in range(count)]
    every = steps // 2 // PRUNINGS
    pruner.prune(pattern, sparsity)

    def before_step(step):
        number = step // every
        if step % every == 0 and number <= PRUNINGS:
            if number > 0:
                pruner.prune(pattern, sparsity, parts[(number - 1) % count])
            if number < PRUNINGS:
                for name in parts[number % count]:
                    del pruner.masks[name]

    fine_tune(before_step=before_step)


def admm(pruner, pattern, sparsity, steps, fine_tune, rho=0.01):
    """Weights are drawn to what the pattern leaves of them, W to Z with the multipliers U, then pruned to it."""
    every = steps // 2 // PRUNINGS
    multipliers = {name: torch.zeros_like(weight) for name, weight in pruner.weights.items()}
    near = {}

    def projected():
        with torch.no_grad():
            moved = {name: weight + multipliers[name] for name, weight in pruner.weights.items()}
            masks = pruner.choose(pattern, sparsity, moved).masks
            for name, value in moved.items():
                near[name] = value * masks[name].to(value.device)
                multipliers[name] = value - near[name]

    def before_step(step):
        if step == every * PRUNINGS:
            near.clear()
            pruner.prune(pattern, sparsity)
        elif step % every == 0 and step < every * PRUNINGS:
            projected()

    def on_gradients():
        for name, target in near.items():
            weight = pruner.weights[name]
            weight.grad += rho * (weight.detach() - target + multipliers[name])

    fine_tune(before_step=before_step, on_gradients=on_gradients)


METHODS = {method.__name__: method for method in (one_shot, gradual, grow_and_prune, admm)}
