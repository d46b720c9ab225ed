#!/usr/bin/env python3
"""A decoder block of Llama-2 13B's sizes, its linear layers sparse beside dense: right, how long, how many bytes.

    tests/gpu/decoder_block.py build/release/weft FOLDER [--json FILE] [--search 15] [--joined]

Makes weights of three patterns, searches for kernels (`weft tune`, --search seconds for each shape and number of tokens;
0: takes what weft chooses, which may pack weights twice), exports a package for each layer and builds its PyTorch
operator, all in FOLDER. Then the block runs in CUDA graphs, N sequences with one token each: RMSNorm, q, k, v, attention over a cache of --context
positions, o, RMSNorm, gate, up, SiLU, down, with the linear layers by weft's operators or by PyTorch's. Norms and
attention are PyTorch's in both, there are no rotary embeddings. The dense layers have the same pruned weights.

Before it is timed, each layer is compared with float64, and so is the block; afterwards again. Several blocks stand one
behind the other in a graph, dense and sparse graphs take turns. A block reads its weights in turn, 634 MB dense and more
than 150 MB sparse, so a cache of 50 MB has few of them when they are read again.

Layers of one shape have weights in the same places and other values, so that one search is for all. --joined makes one
layer of q, k and v, and one of gate and up; "joined" in the table is PyTorch's time of that. --device cpu runs the
packages' kernels for the processor, for a look at the script itself. Needs torch 2.9 or later, cmake and a C++
compiler; prints tables last and ends with 1 where something is wrong. [SKIP] where it has no device or no such torch.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import statistics
import sys
import time

try:
    import numpy  # noqa: F401: decoder_packages writes weights with it
    import torch
    from torch.nn import functional
except ImportError as error:
    print(f"[SKIP] {error}")
    sys.exit(0)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from decoder_packages import PATTERNS, chosen_of, layers_of, load_operators, make_all  # noqa: E402: found beside this file

ROUNDING = {torch.float16: 2.0**-11, torch.float32: 2.0**-22}  # of f32 sums too
failed = []


def check(holds, what):
    if not holds:
        failed.append(what)
        print("FAILED: " + what, flush=True)


# The block

class State:
    """What a block has beside its linear layers, and an input."""

    def __init__(self, n, options):
        random = torch.Generator(options.device).manual_seed(n)

        def drawn(*shape):
            return torch.randn(shape, generator=random, device=options.device).to(options.dtype)

        cache = (n, options.heads, options.context, options.hidden // options.heads)
        self.x, self.norms = drawn(n, options.hidden), [1 + drawn(options.hidden) / 8 for _ in range(2)]
        self.keys, self.values = drawn(*cache), drawn(*cache)
        self.between = drawn(n, options.between)

    def double(self):
        other = object.__new__(State)
        other.x, other.keys, other.values, other.between = (
            one.double() for one in (self.x, self.keys, self.values, self.between))
        other.norms = [one.double() for one in self.norms]
        return other


def dense_layers(weights):
    return {layer: lambda x, weight=weight: functional.linear(x, weight) for layer, weight in weights.items()}


def double_layers(weights):
    return {layer: lambda x, weight=weight: functional.linear(x, weight.double()) for layer, weight in weights.items()}


def joined_weights(weights):
    if "qkv" in weights:
        return weights
    return {"qkv": torch.cat([weights[one] for one in "qkv"]), "o": weights["o"],
            "gate_up": torch.cat([weights["gate"], weights["up"]]), "down": weights["down"]}


def parts(linear, names, joined, x):
    return linear[joined](x).chunk(len(names), -1) if joined in linear else [linear[one](x) for one in names]


def block(linear, state):
    x, (n, heads, _, width) = state.x, state.keys.shape
    h = functional.rms_norm(x, x.shape[-1:], state.norms[0], 1e-5)
    query, key, value = (one.view(n, heads, 1, width) for one in parts(linear, ("q", "k", "v"), "qkv", h))
    state.keys[:, :, -1:] = key
    state.values[:, :, -1:] = value
    mixed = functional.scaled_dot_product_attention(query, state.keys, state.values)
    x = x + linear["o"](mixed.reshape(n, heads * width))
    h = functional.rms_norm(x, x.shape[-1:], state.norms[1], 1e-5)
    gate, up = parts(linear, ("gate", "up"), "gate_up", h)
    return x + linear["down"](functional.silu(gate) * up)


def layers_alone(linear, state):
    return [call(state.between if layer == "down" else state.x) for layer, call in linear.items()][-1]


# Checks and times

def error_of(found, expected):
    """The largest difference, over the largest output."""
    return ((found.double() - expected).abs().max() / expected.abs().max()).item()


def check_layers(name, state, options):
    pattern = PATTERNS[name]
    for layer, call in pattern.sparse.items():
        x = state.between if layer == "down" else state.x
        error = error_of(call(x), functional.linear(x.double(), pattern.dense[layer].double()))
        pattern.error[layer] = max(error, pattern.error.get(layer, 0))
        check(error < 4 * ROUNDING[options.dtype], f"{name}, layer {layer}, N = {len(x)}: error {error:.1e}")


class Graph:
    """So many runs, one behind the other; on a processor they run when they are asked for."""

    def __init__(self, run, repeat, options):
        self.run, self.repeat, self.graph = run, repeat, None
        if options.device != "cuda":
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            run()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            for _ in range(repeat):
                self.output = run()

    def replay(self):
        if self.graph is not None:
            self.graph.replay()
            return self.output
        for _ in range(self.repeat):
            self.output = self.run()
        return self.output

    def event(self):
        if self.graph is None:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def sample(self):
        if self.graph is not None:
            torch.cuda._sleep(2_000_000)  # so that what is timed is launched before it begins
        begin = self.event()
        self.replay()
        return begin, self.event()

    def microseconds(self, samples):
        on_device = self.graph is not None
        return statistics.median((1000 * begin.elapsed_time(end) if on_device else 1e6 * (end - begin)) / self.repeat
                                 for begin, end in samples)


def times_of(graphs, options):
    """Microseconds of a run of each. They take turns."""
    samples = {name: [] for name in graphs}
    for _ in range(options.rounds):
        for name, graph in graphs.items():
            samples[name].append(graph.sample())
    if options.device == "cuda":
        torch.cuda.synchronize()
    return {name: graph.microseconds(samples[name]) for name, graph in graphs.items()}


def host_time(call, x):
    """Microseconds until an eager call returns."""
    calls = 100
    for _ in range(3):
        call(x)
    if x.is_cuda:
        torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(calls):
        call(x)
    return 1e6 * (time.perf_counter() - begin) / calls


def launches_of(graph):
    """What the last block of a replay launches: when, how long, what; microseconds."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        graph.replay()
        torch.cuda.synchronize()
    found = sorted((one.time_range.start, one.time_range.elapsed_us(), one.name) for one in profile.events()
                   if one.device_type == torch.autograd.DeviceType.CUDA)
    return found[len(found) - len(found) // graph.repeat:]


def measure(name, n, options):
    pattern, state = PATTERNS[name], State(n, options)
    check_layers(name, state, options)
    ways = {"sparse": pattern.sparse, "dense": dense_layers(pattern.dense)}
    if not options.joined:
        ways["joined"] = dense_layers(pattern.joined)
    double = double_layers(pattern.dense)
    expected = block(double, state.double())
    graphs = {way: Graph(lambda linear=linear: block(linear, state), options.repeat, options) for way, linear in ways.items()}
    errors = {way: error_of(graph.replay(), expected) for way, graph in graphs.items()}
    what = f"{name}, N = {n}"
    limit = 2 * errors["dense"] + ROUNDING[options.dtype]
    check(errors["sparse"] < limit, f"{what}: errors of the block {errors}")
    times = times_of(graphs, options)
    alone = {way: Graph(lambda linear=linear: layers_alone(linear, state), options.repeat, options)
             for way, linear in ways.items()}
    times |= {way + " layers": value for way, value in times_of(alone, options).items()}
    # Another input, after all these replays: sums that blocks share begin at zero again.
    state.x.copy_(state.x.flip(0).roll(1, 1))
    again = error_of(graphs["sparse"].replay(), block(double, state.double()))
    check(again < limit, f"{what}: error {again:.1e} with another input")
    host = {way: host_time(linear["o"], state.x) for way, linear in ways.items()}
    if options.launches and options.device == "cuda":
        found = launches_of(graphs["sparse"])
        print(f"\n{what}: what a block launches, when and how long")
        for begin, duration, text in found:
            print(f"{begin - found[0][0]:9.2f} {duration:9.2f}  {text[:90]}")
    return times, errors, host, (state, graphs["sparse"], limit)


def check_together(name, graphs, double):
    """Graphs of two sizes in two streams at once, each with its own workspaces."""
    expected = [block(double, state.double()) for state, *_ in graphs]
    streams = [torch.cuda.Stream() for _ in graphs]
    torch.cuda.synchronize()
    for _ in range(10):
        for stream, (_, graph, _) in zip(streams, graphs):
            with torch.cuda.stream(stream):
                graph.replay()
    torch.cuda.synchronize()
    for (state, graph, limit), one in zip(graphs, expected):
        error = error_of(graph.output, one)
        check(error < limit, f"{name}, N = {len(state.x)} beside others: error {error:.1e}")


def measure_pattern(name, options):
    """A line for each number of tokens."""
    pattern = PATTERNS[name]
    seconds, packed, on_device = load_operators(name, options)
    pattern.joined = joined_weights(pattern.dense)
    print(f"\n{pattern.text}: packages opened in {seconds:.1f} s", flush=True)
    measured = [measure(name, n, options) for n in options.columns]
    if options.device == "cuda":
        check_together(name, [graph for *_, graph in measured], double_layers(pattern.dense))
    on_cuda = options.device == "cuda"
    common = {
        "weftblock": 1, "t": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "device": torch.cuda.get_device_name() if on_cuda else platform.processor() or platform.machine(),
        "torch": torch.__version__, "cuda": torch.version.cuda, "pattern": pattern.text,
        "format": pattern.format if on_cuda else "csr", "joined": options.joined, "hidden": options.hidden,
        "between": options.between, "heads": options.heads, "context": options.context,
        "dtype": str(options.dtype).removeprefix("torch."), "search_seconds": options.search, "rounds": options.rounds,
        "blocks": options.repeat, "layer_error": pattern.error, "packed_bytes": packed, "device_bytes": on_device,
        "dense_bytes": sum(weight.numel() * weight.element_size() for weight in pattern.dense.values()),
        "open_seconds": round(seconds, 2)}
    chosen = chosen_of(name, options)
    return [common | {"n": n, "us": {way: round(value, 2) for way, value in times.items()},
                      "host_us": {way: round(value, 2) for way, value in host.items()}, "error": errors,
                      "chosen": {key: value for key, value in chosen.items() if key.endswith(f"x{n}")}}
            for n, (times, errors, host, _) in zip(options.columns, measured)]


def measure_all(options):
    """The lines of all patterns. What goes wrong with one leaves the others."""
    lines = []
    for name in options.patterns:
        try:
            found = measure_pattern(name, options)
        except (RuntimeError, OSError, ImportError) as error:
            check(False, f"{name}: {error}")
            continue
        lines += found
        if options.json:
            with open(options.json, "a", encoding="utf-8") as out:
                out.writelines(json.dumps(line) + "\n" for line in found)
    return lines


def print_tables(lines):
    print(f"\n{lines[0]['device']}, torch {lines[0]['torch']}: microseconds of a block, and of its linear layers alone; "
          "dense over sparse")
    print(f"{'pattern':<14} {'N':>3} {'dense':>8} {'joined':>8} {'sparse':>8} {'ratio':>6}   {'dense':>8} {'joined':>8} "
          f"{'sparse':>8} {'ratio':>6}   {'error':>8} {'dense':>8}   host us a call")
    for line in lines:
        row = f"{line['pattern']:<14} {line['n']:>3}"
        for kind in ("", " layers"):
            us = {way: line["us"].get(way + kind) for way in ("dense", "joined", "sparse")}
            row += "".join(f" {'-' if value is None else f'{value:.1f}':>8}" for value in us.values())
            row += f" {us['dense'] / us['sparse']:>6.2f}  "
        print(row + f" {line['error']['sparse']:>8.1e} {line['error']['dense']:>8.1e}   {line['host_us']['sparse']:.1f}, "
              f"dense {line['host_us']['dense']:.1f}")
    print(f"\n{'pattern':<14} {'format':<14} {'packed MB':>10} {'on GPU MB':>10} {'dense MB':>10} {'ratio':>6}   "
          "largest error of a layer")
    for line in {line["pattern"]: line for line in lines}.values():
        print(f"{line['pattern']:<14} {line['format']:<14} {line['packed_bytes'] / 1e6:>10.1f} {line['device_bytes'] / 1e6:>10.1f} "
              f"{line['dense_bytes'] / 1e6:>10.1f} {line['packed_bytes'] / line['dense_bytes']:>6.2f}   {max(line['layer_error'].values()):.1e}")


def options_given():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weft")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--patterns", type=lambda text: text.split(","), default=list(PATTERNS))
    parser.add_argument("--format", action="append", default=[], metavar="PATTERN=FORMAT", help="none=csr, another format")
    parser.add_argument("--columns", type=lambda text: [int(one) for one in text.split(",")], default=[1, 8, 32])
    parser.add_argument("--hidden", type=int, default=5120)
    parser.add_argument("--between", type=int, default=13824)
    parser.add_argument("--heads", type=int, default=40)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--joined", action="store_true", help="q, k and v are one layer, gate and up another")
    parser.add_argument("--search", type=int, default=15, help="seconds of each search; 0: none")
    parser.add_argument("--searches", type=int, default=9, help="at a time")
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--repeat", type=int, default=8, help="blocks of a graph")
    parser.add_argument("--launches", action="store_true", help="prints what a block launches")
    parser.add_argument("--json", type=pathlib.Path, help="lines are appended to")
    options = parser.parse_args()
    options.folder, options.weft = options.folder.resolve(), str(pathlib.Path(options.weft).resolve())
    for one in options.format:
        name, _, PATTERNS[name].format = one.partition("=")
    return options


def main():
    options = options_given()
    if not (pathlib.Path(torch.__file__).parent / "include/torch/csrc/stable/library.h").exists():
        print(f"[SKIP] torch {torch.__version__} is older than 2.9")
        return 0
    if options.device == "cuda" and not torch.cuda.is_available():
        print("[SKIP] no CUDA device")
        return 0
    if options.device == "cuda":
        major, minor = torch.cuda.get_device_capability()
        options.target, options.dtype = f"sm_{major}{minor}" + ("a" if major >= 9 else ""), torch.float16
    else:
        options.target = "aarch64" if platform.machine() == "aarch64" else "x86-64-v3"
        options.dtype = torch.float32
    os.environ["PATH"] += ":/usr/local/cuda/bin"  # ptxas
    begin = time.perf_counter()
    with torch.no_grad():
        made = make_all(options)
        for name in options.patterns:
            check(name in made, f"{name}: not all packages were made")
        options.patterns = made
        lines = measure_all(options)
    if lines:
        print_tables(lines)
    print(f"{len(failed)} wrong, {time.perf_counter() - begin:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
