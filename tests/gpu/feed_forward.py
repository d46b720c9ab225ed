#!/usr/bin/env python3
"""A gated feed-forward block of Llama-2 13B's sizes in PyTorch, its three layers sparse beside dense: right, how long.

    tests/gpu/feed_forward.py build/release/weft FOLDER [--tokens 2048] [--budget 60s] [--json FILE]

Saves the block with `weft_trace.save`, weights in groups of --rows neighbouring rows of which --sparsity are zero, lets
`weft model tune` search, exports and puts the package into the block: once as it was traced, with features outermost
between the layers ("chain"), and once without these layouts ("alone"). Each layer and the block are compared with float64,
before and after they are timed, in CUDA graphs that take turns with the dense block's, whose weights are the same. What
turning operands over costs is in the times. --device cpu runs kernels for the processor, for a look at the script itself.
Needs torch 2.4 or later, cmake and a C compiler. [SKIP] where it has no device or no torch.
"""
import argparse
import copy
import importlib
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

try:
    import torch
    from torch.nn import functional
except ImportError as error:
    print(f"[SKIP] {error}")
    sys.exit(0)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import weft_trace  # noqa: E402: found beside this checkout

failed = []


def check(holds, what):
    print(("ok: " if holds else "FAILED: ") + what, flush=True)
    if not holds:
        failed.append(what)


class FeedForward(torch.nn.Module):
    def __init__(self, hidden, between):
        super().__init__()
        self.gate_proj = torch.nn.Linear(hidden, between, bias=False)
        self.up_proj = torch.nn.Linear(hidden, between, bias=False)
        self.down_proj = torch.nn.Linear(between, hidden, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


def made(options):
    """The block with weights drawn, groups of rows pruned alike."""
    random = torch.Generator(options.device).manual_seed(5)
    block = FeedForward(options.hidden, options.between).to(options.device, options.dtype).eval()
    with torch.no_grad():
        for layer in block.children():
            rows, columns = layer.weight.shape
            score = torch.rand([-(-rows // options.rows), columns], generator=random, device=options.device)
            kept = score.argsort(dim=1).argsort(dim=1) >= int(options.sparsity * columns)
            layer.weight.normal_(generator=random)
            layer.weight.mul_(kept.repeat_interleave(options.rows, 0)[:rows]).div_((columns * (1 - options.sparsity)) ** 0.5)
    return block


def command(options, *words):
    done = subprocess.run([options.weft, *map(str, words)], capture_output=True, text=True)
    if done.returncode not in (0, 6):
        sys.exit(f"{' '.join(map(str, words))}\n{done.stdout}{done.stderr}")
    return done.stdout


def packaged(block, x, name, options):
    """The block with its package's layers, and what the search says of them."""
    folder = options.folder / name
    shutil.rmtree(folder, ignore_errors=True)
    network = weft_trace.save(block, x, folder / "net")
    if name == "alone":
        for layer in network["layers"]:
            layer.pop("layout", None)
        (folder / "net/network.json").write_text(json.dumps(network))
    on_gpu = options.device == "cuda"
    tuned = json.loads(command(options, "model", "tune", folder / "net", "--measure", "gpu" if on_gpu else "cpu", "--budget",
                               options.budget, "--trials", options.trials, "--db", folder / "trials.jsonl", "--progress",
                               "none", "--json", *(["--target", options.archs] if on_gpu else [])))
    command(options, "model", "export", folder / "net", "--db", folder / "trials.jsonl", "--all", "--name", "block_" + name,
            "--archs", options.archs, "-o", folder / "package")
    sys.path.insert(0, str(folder / "package"))
    package = importlib.import_module("block_" + name)
    layouts = [row.get("layout") for row in json.loads((folder / "package/layers.json").read_text())["layers"]]
    return package, package.apply(copy.deepcopy(block)), {"classes": tuned["classes"], "layouts": layouts}


def error_of(found, expected):
    return ((found.double() - expected).abs().max() / expected.abs().max()).item()


def captured(call, options):
    """A function that makes so many calls, as one CUDA graph."""
    if options.device != "cuda":
        return lambda: [call() for _ in range(options.repeat)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        call()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(options.repeat):
            call()
    return graph.replay


def times_of(calls, options):
    """Microseconds of a call, medians of rounds in turns."""
    runs = {name: captured(call, options) for name, call in calls.items()}
    samples = {name: [] for name in runs}
    for _ in range(options.rounds):
        for name, run in runs.items():
            if options.device == "cuda":
                torch.cuda.synchronize()
            begin = time.perf_counter()
            run()
            if options.device == "cuda":
                torch.cuda.synchronize()
            samples[name].append(1e6 * (time.perf_counter() - begin) / options.repeat)
    return {name: statistics.median(each) for name, each in samples.items()}


def main():
    parser = argparse.ArgumentParser(description="A feed-forward block, sparse beside dense.")
    parser.add_argument("weft")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    for name, usual in (("hidden", 5120), ("between", 13824), ("tokens", 2048), ("rows", 64), ("trials", 40), ("rounds", 11),
                        ("repeat", 10)):
        parser.add_argument("--" + name, type=int, default=usual)
    parser.add_argument("--only", nargs="*", default=["chain", "alone"], choices=["chain", "alone"])
    parser.add_argument("--sparsity", type=float, default=0.75)
    parser.add_argument("--budget", default="60s")
    parser.add_argument("--archs", default="")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("[SKIP] there is no CUDA device")
        return 0
    options.dtype = torch.float16 if options.device == "cuda" else torch.float32
    options.archs = options.archs or ("sm_90a" if options.device == "cuda" else "x86-64-v3")
    block = made(options)
    x = torch.randn([options.tokens, options.hidden], device=options.device).to(options.dtype)
    with torch.no_grad():
        double = copy.deepcopy(block).double()
        blocks, found = {"dense": block}, {}
        for name in options.only:
            package, blocks[name], found[name] = packaged(block, x, name, options)
            for layer, difference in package.check(blocks[name], x, block).items():
                check(difference < 4e-3, f"{name}, {layer}: {difference:.1e} away from dense")
        chained = "chain" in options.only
        expected = ["kn_nm", "nk_mn", "nk_mn"] if options.device == "cuda" and options.tokens >= 256 else ["nk"] * 3
        check(not chained or sorted(found["chain"]["layouts"]) == expected, f"layouts of the chain, where it is, {expected}")
        inputs = {"first": x, "another": x.flip(0).roll(1, 1).contiguous(), "of three dimensions": x.view(1, *x.shape)}
        for what, given in inputs.items():
            exact = double(given.double())
            errors = {name: error_of(one(given), exact) for name, one in blocks.items()}
            check(all(error <= 2 * errors["dense"] + 1e-6 for error in errors.values()), f"{what} input: errors {errors}")
        del double
        times = times_of({name: lambda one=one: one(x) for name, one in blocks.items()}, options)
        for name in options.only:
            check(error_of(blocks[name](x), block(x).double()) < 4e-3, f"{name} is right after it was timed")
    print(f"{'tokens':>6} {'dense us':>9}" + "".join(f" {name + ' us':>9} {'ratio':>6}" for name in options.only))
    print(f"{options.tokens:>6} {times['dense']:>9.1f}"
          + "".join(f" {times[name]:>9.1f} {times['dense'] / times[name]:>6.2f}" for name in options.only))
    if options.json:
        with options.json.open("a") as out:
            gpu = torch.cuda.get_device_name() if options.device == "cuda" else "cpu"
            out.write(json.dumps({"gpu": gpu, "tokens": options.tokens, "hidden": options.hidden, "between": options.between,
                                  "rows": options.rows, "sparsity": options.sparsity, "us": times, "found": found}) + "\n")
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
