#!/usr/bin/env python3
"""Networks of train_networks.py with their packages put into them: right, and how long they take.

    apply_networks.py NETWORKS PACKAGES [--threads 1,2] [--rounds 40]

PACKAGES/cnn and PACKAGES/transformer are packages that `weft model export` wrote of NETWORKS/cnn and
NETWORKS/transformer under the names weft_cnn and weft_transformer. Prints a line a check and a table of times, the
networks taking turns, with all layers of the package and with those that apply() finds faster; ends with 1 where
something is wrong.
"""
import argparse
import copy
import importlib
import json
import pathlib
import statistics
import struct
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import train_networks  # noqa: E402: found beside this file

TYPES = {"F32": torch.float32, "I64": torch.int64}
failed = []


def check(holds, what):
    print(("ok: " if holds else "FAILED: ") + what, flush=True)
    if not holds:
        failed.append(what)


def tensors_of(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    return {name: torch.frombuffer(bytearray(data[8 + size + one["data_offsets"][0]:8 + size + one["data_offsets"][1]]),
                                   dtype=TYPES[one["dtype"]]).reshape(one["shape"])
            for name, one in header.items() if name != "__metadata__"}


def near(found, expected, what):
    scale = expected.abs().max().item()
    difference = (found - expected).abs().max().item() / scale
    check(difference < 1e-4, f"{what}: largest difference {difference:.1e} of the largest output")


def times_of(runs, rounds):
    """Medians in milliseconds of runs that take turns."""
    samples = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            begin = time.perf_counter()
            run()
            samples[name].append(1000 * (time.perf_counter() - begin))
    return {name: statistics.median(times) for name, times in samples.items()}


def another_activation(name, package, dense):
    """A model that is not the one that was exported is refused, and stays as it was."""
    model = copy.deepcopy(dense)
    for parent in model.modules():
        for place, module in parent.named_children():
            if isinstance(module, (torch.nn.ReLU, torch.nn.GELU)):
                setattr(parent, place, torch.nn.Tanh())
    try:
        package.apply(model)
        check(False, f"{name} with other activations is refused")
    except package.Error as error:
        check("take \"activation\" out of network.json" in str(error), f"{name} with other activations is refused")
    kinds = {type(model.get_submodule(layer)).__module__ for layer in package.layers()}
    check(not any(kind.startswith("weft_") for kind in kinds), f"{name}, refused, has all its layers")


def on_the_gpu(name, package, dense, given):
    targets = [one["target"] for path in sorted((package.folder() / "layers").glob("*/manifest.json"))
               for one in json.loads(path.read_text())["kernels"]]
    if not torch.cuda.is_available() or not any(target.startswith("sm_") for target in targets):
        return print("left out: no CUDA device, or no kernels for one")
    if name != "cnn":  # the transformer makes places on the CPU
        return None
    model = package.apply(copy.deepcopy(dense)).cuda()
    reference, given = copy.deepcopy(dense).cuda(), given.cuda()
    with torch.no_grad():
        near(model(given).cpu(), reference(given).cpu(), f"{name} on a GPU")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        model(given)
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph, stream=stream):
        out = model(given)
    graph.replay()
    torch.cuda.synchronize()
    with torch.no_grad():
        near(out.cpu(), reference(given).cpu(), f"{name} as a CUDA graph")
    return None


def run(name, dense, networks, packages, options):
    state = tensors_of(networks / name / "model.safetensors")
    dense.load_state_dict(state)
    dense.eval()
    test = tensors_of(networks / name / "test.safetensors")
    given = test["input"]
    sys.path.insert(0, str(packages / name))
    package = importlib.import_module("weft_" + name)
    lines = []
    for threads in options.threads:
        torch.set_num_threads(threads)
        model = package.apply(copy.deepcopy(dense), threads=threads)
        with torch.no_grad():
            expected, found = dense(given), model(given)
        near(found, expected, f"{name}, {threads} threads")
        same = (found.argmax(-1) == test["label"]).float().mean().item()
        check(same == (expected.argmax(-1) == test["label"]).float().mean().item(), f"{name}: accuracy {same:.4f}, unchanged")
        for layer, difference in package.check(model, given, dense).items():
            check(difference < 1e-4, f"{name}, layer {layer}: {difference:.1e}")
        faster = package.apply(copy.deepcopy(dense), threads=threads, example=given)
        kept = sum(type(faster.get_submodule(layer)).__module__ == package.__name__ for layer in package.layers())
        with torch.no_grad():
            near(faster(given), expected, f"{name}, {threads} threads, {kept} of {len(package.layers())} layers faster")
            lines.append((name, threads, kept, times_of({"dense": lambda: dense(given), "weft": lambda: model(given),
                                                         "faster": lambda: faster(given)}, options.rounds)))
    another_activation(name, package, dense)
    again = package.apply(copy.deepcopy(dense))
    for module in again.modules():
        if hasattr(module, "packed"):
            module.packed.zero_()
    again.load_state_dict(model.state_dict())
    with torch.no_grad():
        near(again(given), dense(given), f"{name} from a state_dict")
        near(torch.compile(model)(given), dense(given), f"{name}, compiled")
    on_the_gpu(name, package, dense, given)
    return lines


def main():
    parser = argparse.ArgumentParser(description="Packages put into the networks of train_networks.py.")
    parser.add_argument("networks", type=pathlib.Path)
    parser.add_argument("packages", type=pathlib.Path)
    parser.add_argument("--threads", type=lambda text: [int(one) for one in text.split(",")], default=[1, 2])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--only", nargs="*", choices=["cnn", "transformer"])
    options = parser.parse_args()
    known = {"cnn": train_networks.convolutional, "transformer": train_networks.Transformer}
    lines = []
    for name in options.only or known:
        lines += run(name, known[name](), options.networks, options.packages, options)
    print(f"{'network':<12} {'threads':>7} {'PyTorch ms':>11} {'weft ms':>9} {'ratio':>6} {'faster':>7} {'ms':>9} {'ratio':>6}")
    for name, threads, kept, times in lines:
        print(f"{name:<12} {threads:>7} {times['dense']:>11.3f} {times['weft']:>9.3f} "
              f"{times['dense'] / times['weft']:>6.2f} {kept:>7} {times['faster']:>9.3f} "
              f"{times['dense'] / times['faster']:>6.2f}")
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
