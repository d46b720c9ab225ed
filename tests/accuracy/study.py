#!/usr/bin/env python3
"""How much accuracy small networks have left once `weft prune` has chosen their weights, by pattern and method.

    study.py --weft build/release/weft --out records.jsonl        everything that the file does not have yet
    study.py --weft build/release/weft --quick                    a test of less than a minute
    study.py ... --models mlp,cnn --methods one_shot --seeds 1,2 --device cuda

It needs PyTorch and, for digits, scikit-learn; the test needs PyTorch alone.

A line of the file is a run: model, data, method, pattern, sparsity asked for, zeros there are, seed, steps, accuracy of
the dense network, of the one just pruned (one_shot alone) and of the one trained on, the mean over the layers of the
share of |w| that the last pruning kept and, of one_shot on two models, the accuracy in elements of a byte.
"""
import argparse
import copy
import dataclasses
import json
import pathlib
import sys
import time
import typing

try:
    import torch
except ImportError:
    print("[SKIP] no torch for", sys.executable)
    sys.exit(0)
import methods
import models
import patterns
import tasks

QUANTIZED = ("e4m3:per_row", "e5m2:per_row", "i8:per_row")


@dataclasses.dataclass
class Subject:
    """A network, what it learns, and how long; batch and the largest learning rate of the dense one."""
    make: typing.Callable
    task: typing.Callable
    pruned: tuple
    dense_steps: int
    steps: int
    batch: int
    rate: float
    quantized: bool = False


TRANSFORMER_LAYERS = tuple(f"blocks.{block}.{layer}.weight" for block in (0, 1)
                           for layer in ("query", "key", "value", "out", "feed.0", "feed.2"))
SUBJECTS = {
    "mlp": Subject(lambda: models.Mlp(64, 10), lambda: tasks.digits(8, 0.25, 3), ("1.weight", "3.weight"),
                   600, 300, 64, 2e-3, quantized=True),
    "mlp_teacher": Subject(lambda: models.Mlp(64, 10), lambda: tasks.teacher(64, 16), ("1.weight", "3.weight"),
                           3000, 300, 64, 2e-3),
    "cnn": Subject(lambda: models.Cnn(12, 10), lambda: tasks.digits(12, 0.15, 3),
                   ("2.weight", "4.weight", "7.weight"), 600, 120, 64, 2e-3, quantized=True),
    "transformer": Subject(lambda: models.Transformer(16, 10, 16), lambda: tasks.sorting(16, 10), TRANSFORMER_LAYERS,
                           500, 150, 32, 2e-3),
    "lstm": Subject(lambda: models.Lstm(100, 10), lambda: tasks.addition(8, 10),
                    ("cell.weight_ih_l0", "cell.weight_hh_l0"), 400, 180, 32, 5e-3),
}


V = 16
SPARSITIES = {0.75: 8, 0.9: 20, 0.95: 40}  # each with the M that v_n_m has for it
LONG = ("grow_and_prune", "admm")  # methods that are not asked for 50 and 95 %


def grouped(v):
    return f"shfl_bw:V={v}", f"vector_wise:V={v}", f"bcsr:b={v}"


def runs_of(name, chosen_methods):
    """(method, pattern, sparsity) of the whole study; csr at 0 is the dense network trained on."""
    for method in chosen_methods:
        if method == "one_shot":
            yield method, "csr", 0.0
        if method not in LONG:
            yield method, "csr", 0.5
            yield method, "n_m", 0.5
        for sparsity, m in SPARSITIES.items():
            if method in LONG and sparsity > 0.9:
                continue
            for pattern in ("csr", *grouped(V), f"v_n_m:V={V},M={m}"):
                yield method, pattern, sparsity
    if name == "mlp" and "one_shot" in chosen_methods:
        for sparsity in SPARSITIES:
            for v in (8, 32):
                for pattern in grouped(v):
                    yield "one_shot", pattern, sparsity


class Trained:
    """The dense network of a seed, from which every run begins."""

    def __init__(self, name, seed, device, dense_steps=None):
        self.name, self.seed, self.subject = name, seed, SUBJECTS[name]
        self.task = self.subject.task()
        torch.manual_seed(seed)
        self.model = self.subject.make().to(device)
        methods.trained(self.model, self.task, dense_steps or self.subject.dense_steps, self.subject.batch,
                        self.subject.rate, torch.Generator().manual_seed(1000 + seed))
        self.accuracy = methods.accuracy(self.model, self.task)

    def pruned(self, weft, method, pattern, sparsity, steps=None):
        """A record, the network and its pruner."""
        subject, model = self.subject, copy.deepcopy(self.model)
        steps = steps or subject.steps
        pruner = methods.Pruner(weft, model, subject.pruned)
        at_once = []

        def fine_tune(**hooks):
            if method == "one_shot":
                at_once.append(methods.accuracy(model, self.task))
            methods.trained(model, self.task, steps, subject.batch, subject.rate / 2,
                            torch.Generator().manual_seed(2000 + self.seed), masks=pruner.masks, **hooks)

        methods.METHODS[method](pruner, pattern, sparsity, steps, fine_tune)
        faults = pruner.chosen.faults()
        if faults:
            raise RuntimeError(f"no mask of {pattern}: {', '.join(faults)}")
        record = {"model": self.name, "data": self.task.name, "method": method, "pattern": pattern,
                  "sparsity": sparsity, "zeros": round(pruner.chosen.zeros(), 4), "seed": self.seed, "steps": steps,
                  "dense": round(self.accuracy, 4)}
        if at_once:
            record["at_once"] = round(at_once[0], 4)
        record |= {"pruned": round(methods.accuracy(model, self.task), 4),
                   "kept_score": round(pruner.chosen.kept_score(), 4)}
        if subject.quantized and method == "one_shot":
            record["quantized"] = self.accuracies_quantized(weft, model, pruner.weights)
        return record, model, pruner

    def accuracies_quantized(self, weft, model, weights):
        """With weights of a byte times scales of rows; all else stays f32."""
        before = {name: weight.detach().clone() for name, weight in weights.items()}
        found = {}
        with torch.no_grad():
            for how in QUANTIZED:
                for name, value in patterns.quantized(weft, before, how).items():
                    weights[name].copy_(value)
                found[how.partition(":")[0]] = round(methods.accuracy(model, self.task), 4)
            for name, value in before.items():
                weights[name].copy_(value)
        return found


KEY = ("model", "method", "pattern", "sparsity", "seed")


def study(options):
    out = pathlib.Path(options.out)
    done = set()
    if out.exists():
        done = {tuple(record[name] for name in KEY) for record in map(json.loads, out.read_text().splitlines())}
    for seed in map(int, options.seeds.split(",")):
        for name in options.models.split(","):
            left = [run for run in runs_of(name, options.methods.split(",")) if (name, *run, seed) not in done]
            if not left:
                continue
            begin = time.perf_counter()
            trained = Trained(name, seed, options.device)
            print(f"{name}, seed {seed}: {trained.accuracy:.4f} dense, {time.perf_counter() - begin:.1f} s", flush=True)
            for run in left:
                record = trained.pruned(options.weft, *run)[0]
                with out.open("a") as lines:
                    lines.write(json.dumps(record) + "\n")
            print(f"{name}, seed {seed}: {len(left)} runs, {time.perf_counter() - begin:.1f} s", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description="Accuracies of small networks that weft prunes.")
    parser.add_argument("--weft", required=True, help="the command")
    parser.add_argument("--out", help="the file of records, which a run continues")
    parser.add_argument("--models", default=",".join(SUBJECTS))
    parser.add_argument("--methods", default=",".join(methods.METHODS))
    parser.add_argument("--seeds", default="1,2,3,4,5")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--quick", action="store_true", help="a test in place of the study")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if options.quick:
        import quick
        return quick.run(options.weft)
    if not options.out:
        parser.error("--out FILE, or --quick")
    return study(options)


if __name__ == "__main__":
    sys.exit(main())
