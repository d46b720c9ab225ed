#!/usr/bin/env python3
"""A small MLP, trained, pruned and rounded to elements of a byte: through the command into PyTorch again.

Usage: quantized_test.py WEFT [FOLDER]. Needs torch and cmake; without them it prints [SKIP]. Prints each check.
"""

import copy
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

try:
    import torch
    torch.float8_e4m3fn  # noqa: B018: older ones have none
except (ImportError, AttributeError):
    print("[SKIP] there is no torch with types of a byte")
    sys.exit(0)
if shutil.which("cmake") is None:
    print("[SKIP] there is no cmake")
    sys.exit(0)

TYPES = {"F32": torch.float32, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "I8": torch.int8}
LARGEST = {"F8_E4M3": 448, "F8_E5M2": 57344, "I8": 127}
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import checks  # noqa: E402: beside this file
import weft  # noqa: E402: found beside the tests
from checks import check, write_safetensors  # noqa: E402


def arrays_of(model):
    return {name: tensor.numpy() for name, tensor in model.state_dict().items()}


def read_safetensors(path):
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, begin = json.loads(data[8:8 + size]), 8 + size
    header.pop("__metadata__", None)
    return {name: (one["dtype"],
                   torch.frombuffer(bytearray(data[begin + one["data_offsets"][0]:begin + one["data_offsets"][1]]),
                                    dtype=TYPES[one["dtype"]]).reshape(one["shape"]))
            for name, one in header.items()}


class Mlp(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(40, 96), torch.nn.ReLU(), torch.nn.Linear(96, 64),
                                          torch.nn.ReLU(), torch.nn.Linear(64, 10, bias=False))

    def forward(self, x):
        return self.layers(x)


def generated(count, random):
    """Points around ten centres, and which one each belongs to."""
    centres = torch.randn([10, 40], generator=torch.Generator().manual_seed(5))
    label = torch.randint(10, [count], generator=random)
    return centres[label] + 2 * torch.randn([count, 40], generator=random), label


def train(model, masks, steps, random):
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        x, label = generated(256, random)
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), label).backward()
        optimizer.step()
        with torch.no_grad():
            for name, mask in masks.items():
                model.get_parameter(name).mul_(mask)


def accuracy(model, x, label):
    with torch.no_grad():
        return (model(x).float().argmax(-1) == label).double().mean().item()


def command(*words):
    done = subprocess.run([sys.argv[1], *map(str, words)], capture_output=True, text=True)
    check(done.returncode in (0, 6), f"weft {' '.join(map(str, words[:2]))} {done.stderr[-600:]}")
    return done.stdout


def network_file(folder):
    layers = [{"name": f"layers.{i}", "op": "linear", "weight": f"layers.{i}.weight", "n": 64} for i in (0, 2, 4)]
    for layer in layers[:2]:
        layer.update(bias=layer["name"] + ".bias", activation="relu")
    (folder / "network.json").write_text(json.dumps({"weft_network": 1, "weights": "model.safetensors", "layers": layers}))


def rounded(x, dtype):
    """What stands for x, and for what: as it is written down, one token after the other, in f64 but for the scale."""
    values, scales = torch.empty(x.shape, dtype=torch.float64), []
    for i, token in enumerate(x.float()):
        largest = token.abs().max()
        scale = largest * (1 / LARGEST[dtype]) if largest > 0 else torch.tensor(1.0)
        of_scale = token / scale
        values[i] = (of_scale.round() if dtype == "I8" else of_scale.to(TYPES[dtype])).double()
        scales.append(scale.double())
    return values, torch.stack(scales)


def check_layers(model, tensors, x, what, of_magnitude=1e-5):
    """Each layer on what it is given, against sums in f64 of what was rounded. Sums may be off by such a share of the
    sum of their absolute values."""
    worst = {}

    def compare(module, inputs, output):
        name = module.layer
        dtype, weight = tensors[name + ".weight"]
        scale = tensors[name + ".weight_scale"][1].double().reshape(-1)
        values, token_scale = rounded(inputs[0].cpu().reshape(-1, weight.shape[1]), dtype)
        sums = values @ weight.double().T * scale * token_scale[:, None]
        if name + ".bias" in tensors:
            sums += tensors[name + ".bias"][1].half().double()
        expected = sums.clamp_min(0) if name != "layers.4" else sums
        found = output.cpu().reshape(expected.shape).double()
        magnitude = (values.abs() @ weight.double().abs().T) * scale * token_scale[:, None]
        allowed = expected.abs().clamp_min(2.0**-14) * 2.0**-11 + of_magnitude * magnitude
        worst[name] = ((found - expected).abs() / allowed).max().item()

    hooks = [module.register_forward_hook(compare) for module in model.modules() if hasattr(module, "layer")]
    with torch.no_grad():
        model(x)
    for hook in hooks:
        hook.remove()
    check(len(worst) == 3 and max(worst.values()) <= 1, f"{what}: every layer is right in f64, {worst}")


def check_module(package, dense, model, x):
    """What else a model is asked for."""
    with torch.no_grad():
        whole = model(x)
        check(torch.equal(model(x.reshape(4, -1, 40)).reshape(whole.shape), whole), "tokens of two dimensions are tokens")
        check(torch.equal(model(x[:1]), whole[:1]), "a token alone is what it is among others")
        zero = model(torch.zeros([3, 40]))
        check(bool(zero.isfinite().all()) and torch.equal(zero[0], zero[2]), "tokens of zeros are no division by zero")
        broken = x.clone()
        broken[5, 3] = float("nan")
        found = model(broken)
        others = [i for i in range(len(x)) if i != 5]
        # ReLU of NaN is zero in a kernel, and the last layer's sums are of what it gives.
        check(torch.equal(found[others], whole[others]), "a token that is not finite is nobody else's")
        check(model(x[:0]).shape == (0, 10), "no token is no token")
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            other = model(x.to(dtype))
            check(other.dtype == dtype, f"{dtype} comes back")
            check((other.float() - whole).abs().max() <= 0.1 * whole.abs().max(), f"{dtype} is taken")
        moved = copy.deepcopy(model).half()
        check(moved.layers[0].scale.dtype == torch.float32 and moved(x.half()).dtype == torch.float16,
              "a model in half keeps its scales")
        check(torch.equal(copy.deepcopy(model)(x), whole), "a copy is the same")
        check(torch.equal(package.apply(copy.deepcopy(dense), threads=2)(x), whole), "two threads are the same")
        again = package.apply(copy.deepcopy(dense))
        state = {name: one.clone() for name, one in model.state_dict().items()}
        check("layers.0.scale" in state and "layers.0.weight" not in state, "the state has scales")
        again.layers[0].scale.zero_()
        again.load_state_dict(state)
        check(torch.equal(again(x), whole), "a state_dict brings all of it")
        check(torch.equal(torch.compile(model, backend="eager")(x), whole), "it goes through torch.compile")
    for wrong, says in ((torch.zeros([3, 40], dtype=torch.int64), "an input of a floating type [..., 40] is taken"),
                        (torch.zeros([3, 40], device="meta"), "an input on cpu is taken")):
        try:
            model(wrong)
            check(False, says)
        except package.Error as error:
            check(says in str(error), says)


def check_faster(package, dense, x):
    """What is not faster stays."""
    names = [f"layers.{number}" for number in range(6) if f"layers.{number}" in package.layers()]
    times = package.compare(copy.deepcopy(dense), x, rounds=3)
    check(sorted(times) == names and all(one > 0 for both in times.values() for one in both), f"layers are timed: {times}")
    measured = package.compare
    package.compare = lambda model, example, threads: dict(zip(names, ((2.0, 1.0), (1.0, 2.0), (1.0, 1.0))))
    try:
        model = package.apply(copy.deepcopy(dense), example=x)
    finally:
        package.compare = measured
    found = [type(model.get_submodule(name)).__name__ for name in names]
    check(found == ["QuantizedLinear", "Linear", "Linear"], f"faster layers alone are replaced, found {found}")
    check(type(dense.layers[1]) is type(model.layers[3]), "and the activation of a layer that stays")


def gpu_target():
    """What kernels for this machine's GPU are made for; empty without one."""
    if not torch.cuda.is_available():
        return ""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if (major, minor) == (9, 0) else "")


def check_on_gpu(package, pruned, tensors, x, kind):
    """The same on CUDA tensors, and as a CUDA graph. Tensor cores sum e4m3 and e5m2 with few bits."""
    moved = package.apply(copy.deepcopy(pruned)).cuda()
    given = x.cuda()
    check_layers(moved, tensors, given, f"{kind}, on a GPU", 1e-5 if tensors["layers.0.weight"][0] == "I8" else 5e-3)
    behind = package.apply(copy.deepcopy(pruned).cuda())  # scales follow the layers that they replace
    with torch.no_grad():
        whole = moved(given)
        check(torch.equal(behind(given), whole), f"{kind}: a model that is there already")
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            moved(given)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            found = moved(given)
        graph.replay()
        torch.cuda.synchronize()
        check(torch.equal(found, whole), f"{kind}: as a CUDA graph")


def run(folder, dense, x, label, random, kind, pattern, quantize):
    folder = folder / kind
    (folder / "float").mkdir(parents=True)
    (folder / "net").mkdir()
    source, network = folder / "float" / "model.safetensors", folder / "net"
    write_safetensors(source, arrays_of(dense))
    command("prune", source, "--all", *pattern, "-o", folder / "float" / "pruned.safetensors")
    chosen = read_safetensors(folder / "float" / "pruned.safetensors")
    masks = {name: one != 0 for name, (_, one) in chosen.items() if name.endswith("weight")}
    pruned = copy.deepcopy(dense)
    with torch.no_grad():
        for name, mask in masks.items():
            pruned.get_parameter(name).mul_(mask)
    train(pruned, masks, 150, random)
    write_safetensors(source, arrays_of(pruned))
    command("prune", source, "--all", *pattern, "--quantize", quantize, "-o", network / "model.safetensors")
    network_file(network)
    tensors = read_safetensors(network / "model.safetensors")
    dtype = quantize.split(":")[0]
    check(all(((one.double() != 0) <= masks[name]).all() for name, (_, one) in tensors.items() if name in masks),
          f"{kind}: the pattern stays")

    layers = json.loads(command("model", "inspect", network, "--json"))["layers"]
    check([(one["dtype"], "scale" in one) for one in layers] == [(dtype, True)] * 3, f"{kind}: three layers of {dtype}")
    tuned = json.loads(command("model", "tune", network, "--measure", "cpu", "--trials", 2, "--budget", "60s", "--db",
                               folder / "trials.jsonl", "--progress", "none", "--json"))
    check(all("us" in one for one in tuned["classes"]), f"{kind}: every layer has a kernel")
    name = "net_" + kind
    targets = ["x86-64-v3", "x86-64-v4"] + ([gpu_target()] if gpu_target() else [])
    command("model", "export", network, "--db", folder / "trials.jsonl", "--all", "--name", name, "-o", folder / "package",
            "--archs", ",".join(targets), "--threads", 2, "--format", pattern[1])
    package = weft.load(folder / "package")
    model = weft.apply(folder / "package", copy.deepcopy(pruned))
    check(sum(hasattr(module, "layer") for module in model.modules()) == 3, f"{kind}: three layers are replaced")
    check_layers(model, tensors, x, kind)
    check_faster(package, pruned, x)
    if gpu_target():
        check_on_gpu(package, pruned, tensors, x, kind)
    with torch.no_grad():
        expected, found = pruned(x), model(x)
    difference = ((found - expected).abs().max() / expected.abs().max()).item()
    check(difference < (0.25 if dtype == "e5m2" else 0.1), f"{kind}: {difference:.3f} of the largest output away from f32")
    before, after = accuracy(pruned, x, label), accuracy(model, x, label)
    check(before > 0.8 and after > before - 0.03, f"{kind}: accuracy {before:.4f} in f32, {after:.4f} in {dtype}")
    said = package.check(model, x, pruned)
    check(set(said) == {"layers.0", "layers.2", "layers.4"} and max(said.values()) < 0.25, f"{kind}: check() says {said}")
    return package, pruned, model


def main():
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(1)
    torch.set_num_threads(1)
    random = torch.Generator().manual_seed(2)
    dense = Mlp()
    train(dense, {}, 200, random)
    x, label = generated(400, random)  # more tokens than a kernel takes at a time
    package, pruned, model = run(folder, dense, x, label, random, "pairs", ["--format", "n_m"], "e4m3:per_row")
    check_module(package, pruned, model, x)
    anywhere = ["--format", "csr", "--sparsity", "0.8"]
    run(folder, dense, x, label, random, "anywhere", anywhere, "i8:per_row")
    run(folder, dense, x, label, random, "wide", anywhere, "e5m2:per_tensor")
    print(f"{checks.done} checks passed")
    if len(sys.argv) <= 2:
        shutil.rmtree(folder)


main()
