"""The weights of decoder_block.py's layers, their packages and the PyTorch operators of these."""
import concurrent.futures
import dataclasses
import importlib
import json
import re
import subprocess
import sys
import time

import numpy
import torch


@dataclasses.dataclass
class Pattern:
    text: str
    format: str
    density: float
    dense: dict = dataclasses.field(default_factory=dict)  # weights by layer
    sparse: dict = dataclasses.field(default_factory=dict)  # operators by layer
    error: dict = dataclasses.field(default_factory=dict)  # by layer, the largest


PATTERNS = {"two_of_four": Pattern("2:4", "n_m", 0.5), "groups": Pattern("V = 64, 75 %", "shfl_bw:V=64", 0.25),
            "none": Pattern("none, 60 %", "pair_words", 0.4)}
GROUP = 64
# The knobs of a recipe by which weights are packed.
PACKED_BY = {"v_n_m": ("tile_m", "tile_k", "instruction"), "shfl_bw": ("tile_m", "tile_k", "instruction"),
             "lane_streams": ("slice", "turns")}
def layers_of(options, joined):
    """By name: rows, columns."""
    hidden, between = options.hidden, options.between
    layers = {"qkv": (3 * hidden, hidden)} if joined else dict.fromkeys("qkv", (hidden, hidden))
    layers["o"] = (hidden, hidden)
    layers |= {"gate_up": (2 * between, hidden)} if joined else dict.fromkeys(("gate", "up"), (between, hidden))
    return layers | {"down": (hidden, between)}


def kept(name, rows, columns, random):
    """Which places keep a weight."""
    drawn = {"generator": random, "device": random.device}
    if name == "two_of_four":
        return (torch.rand(rows, columns // 4, 4, **drawn).argsort(-1) < 2).view(rows, columns)
    if name == "groups":  # 64 rows, somewhere in the matrix, have the same columns
        columns_of = torch.rand(rows // GROUP, columns, **drawn).topk(columns // 4).indices
        places = torch.zeros(rows // GROUP, columns, dtype=torch.bool, device=random.device)
        places.scatter_(1, columns_of, True)
        return places.repeat_interleave(GROUP, 0)[torch.randperm(rows, **drawn)]
    return torch.rand(rows, columns, **drawn) < PATTERNS[name].density


def make_weights(name, options):
    pattern, places = PATTERNS[name], {}
    random = torch.Generator(options.device).manual_seed(1)
    for layer, shape in layers_of(options, options.joined).items():
        if shape not in places:
            places[shape] = kept(name, *shape, random)
        # None is near zero, where another rounding would take it out of the pattern.
        size = (0.5 + torch.rand(shape, generator=random, device=options.device)) / (shape[1] * pattern.density) ** 0.5
        sign = torch.randint(2, shape, generator=random, device=options.device) * 2 - 1
        pattern.dense[layer] = (size * sign * places[shape]).to(options.dtype)
        numpy.save(options.folder / "weights" / f"{name}_{layer}.npy", pattern.dense[layer].cpu().numpy())


def problem(name, layer, options):
    return ["--weights", str(options.folder / "weights" / f"{name}_{layer}.npy"), "--op", "spmm", "--layout", "nk",
            "--dtype", {torch.float16: "f16", torch.float32: "f32"}[options.dtype], "--format",
            PATTERNS[name].format if options.device == "cuda" else "csr"]


def run(command, log):
    """The seconds that it took; nothing where it failed."""
    begin = time.perf_counter()
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT, check=False)
    # 6: the search says that dense is faster.
    if done.returncode not in (0, 6):
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        print(f"FAILED ({done.returncode}): {' '.join(str(word) for word in command)}", *lines[-12:], sep="\n  ", flush=True)
        return None
    return time.perf_counter() - begin


def databases(name, shape, options):
    return [options.folder / "trials" / f"{name}_{shape[0]}x{shape[1]}_{n}.jsonl" for n in options.columns]


def search(name, layer, shape, options):
    """The number of tokens in the middle first. Kernels for the others read the weights as the fastest one of these has them
    packed: a package has them once."""
    middle = len(options.columns) // 2
    if not search_at(name, layer, shape, middle, [], options):
        return
    log = databases(name, shape, options)[middle].with_suffix(".log").read_text(encoding="utf-8")
    found = re.search(r"^fastest: (\w+)(?::(\S+))? in ", log, re.MULTILINE)
    recipe, knobs = found[1], dict(one.split("=") for one in (found[2] or "").split(",") if one)
    same = ["--recipes", recipe]
    for knob in PACKED_BY.get(recipe, ()):
        same += ["--set", f"{knob}={knobs[knob]}"]
    for number in range(len(options.columns)):
        if number != middle:
            search_at(name, layer, shape, number, same, options)


def search_at(name, layer, shape, number, more, options):
    n, database = options.columns[number], databases(name, shape, options)[number]
    # Sets of operands that take turns have more bytes than the cache.
    copies = max(2, min(8, 600_000_000 // (2 * shape[0] * shape[1])))
    jobs = max(2, options.cores // options.searches)
    seconds = run([options.weft, "tune", *problem(name, layer, options), "--n", n, "--time", f"{options.search}s",
                   "--trials", 80, "--copies", copies, "--jobs", jobs, "--rounds", 7, "--no-dense", "--target", options.target,
                   "--db", database, "--out", database.with_suffix(".json"), "--progress", "plain", *more],
                  database.with_suffix(".log"))
    return seconds is not None


def make_package(name, layer, shape, options):
    symbol = f"{name}_{layer}"
    log = options.folder / "packages" / f"{symbol}.log"
    known = [word for one in databases(name, shape, options) if one.exists() for word in ("--db", one)]
    steps = [[options.weft, "export", *problem(name, layer, options), "--n", ",".join(map(str, options.columns)),
              "--archs", options.target, *known, "--name", symbol, "-o", options.folder / "packages" / symbol],
             ["cmake", "-S", options.folder / "packages" / symbol / "torch", "-B", options.folder / "build" / symbol,
              f"-DPython3_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"],
             ["cmake", "--build", options.folder / "build" / symbol, "--parallel", "2"]]
    return all(run(step, log) is not None for step in steps)


def in_parallel(what, tasks, at_a_time):
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        made = [one.result() for one in [pool.submit(*task) for task in tasks]]
    print(f"{what}: {time.perf_counter() - begin:.1f} s", flush=True)
    return made


def make_all(options):
    """Weights, searches, packages, operators. Returns the patterns all of whose packages were made."""
    for folder in ("weights", "trials", "packages", "build"):
        (options.folder / folder).mkdir(parents=True, exist_ok=True)
    begin = time.perf_counter()
    for name in options.patterns:
        make_weights(name, options)
    print(f"weights: {time.perf_counter() - begin:.1f} s", flush=True)
    layers = sorted(layers_of(options, options.joined).items(), key=lambda one: -one[1][0] * one[1][1])
    first = {shape: layer for layer, shape in reversed(layers)}  # the layer that is searched for, by shape
    if options.device == "cuda" and options.search > 0:
        tasks = [(search, name, layer, shape, options) for shape, layer in reversed(first.items()) for name in options.patterns]
        in_parallel(f"{len(tasks)} searches", tasks, options.searches)
    tasks = [(make_package, name, layer, shape, options) for layer, shape in layers for name in options.patterns]
    made = in_parallel(f"{len(tasks)} packages and their operators", tasks, options.cores)
    incomplete = {task[1] for task, is_made in zip(tasks, made) if not is_made}
    return [name for name in options.patterns if name not in incomplete]


def free_bytes(options):
    return torch.cuda.mem_get_info()[0] if options.device == "cuda" else 0


def load_operators(name, options):
    """Opens the packages: seconds, bytes of the packed weights, bytes of the device's memory."""
    begin, free, packed = time.perf_counter(), free_bytes(options), 0
    for layer in layers_of(options, options.joined):
        symbol = f"{name}_{layer}"
        sys.path.insert(0, str(options.folder / "build" / symbol))
        module = importlib.import_module(symbol)
        sys.path.pop(0)
        if options.device == "cuda":
            module.load(torch.cuda.current_device())
        PATTERNS[name].sparse[layer] = getattr(module, symbol)
        packed += (options.folder / "build" / symbol / f"{symbol}.safetensors").stat().st_size
    return time.perf_counter() - begin, packed, free - free_bytes(options)


def chosen_of(name, options):
    """The configurations that were measured to be the fastest, by shape and N."""
    found = {}
    for shape in dict.fromkeys(layers_of(options, options.joined).values()):
        for n, database in zip(options.columns, databases(name, shape, options)):
            lines = [json.loads(line) for line in database.read_text().splitlines()] if database.exists() else []
            right = [line for line in lines if line.get("status") == "correct"]
            if right:
                best = min(right, key=lambda line: line["us"]["median"])
                found[f"{shape[0]}x{shape[1]}x{n}"] = {"us": best["us"]["median"], "trials": len(right), "recipe": best["recipe"],
                                                       "config": best["config"]}
    return found
