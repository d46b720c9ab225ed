#!/usr/bin/env python3
"""A network from a folder to a package: exported by the command, built by a C compiler, called through its table.

Usage: package_test.py WEFT [FOLDER]. Needs numpy and cmake; without them it prints [SKIP]. Prints each check.
"""

import ctypes
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("[SKIP] there is no numpy")
    sys.exit(0)
if shutil.which("cmake") is None:
    print("[SKIP] there is no cmake")
    sys.exit(0)

import checks  # noqa: E402: beside this file
from checks import check, write_safetensors  # noqa: E402


def pruned(random, shape, sparsity):
    weights = random.standard_normal(shape).astype(np.float32)
    weights[random.random(shape) < sparsity] = 0
    return weights


class Layer(ctypes.Structure):
    opener = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32,
                              ctypes.POINTER(ctypes.c_void_p), ctypes.c_char_p, ctypes.c_size_t)
    _fields_ = [("name", ctypes.c_char_p), ("op", ctypes.c_char_p), ("device", ctypes.c_char_p),
                ("dtype", ctypes.c_char_p),
                ("rows", ctypes.c_int64), ("columns", ctypes.c_int64), ("least", ctypes.c_int64),
                ("most", ctypes.c_int64), ("has_bias", ctypes.c_int32),
                ("activation", ctypes.c_char_p), ("weights", ctypes.c_char_p),
                ("open", opener), ("close", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("use_threads", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)),
                ("workspace", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64,
                                               ctypes.POINTER(ctypes.c_size_t))),
                ("launch", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
                                            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t,
                                            ctypes.c_void_p)),
                ("workspace_of_rows", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64,
                                                       ctypes.POINTER(ctypes.c_size_t))),
                ("launch_rows", ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p,
                                                 ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p,
                                                 ctypes.c_size_t))]


def aligned(size, align=256):
    memory = np.full(size + align, 0xFF, dtype=np.uint8)
    begin = -memory.ctypes.data % align
    return memory[begin:begin + size]


def like(array):
    memory = aligned(max(array.nbytes, 1))
    copy = memory[:array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def run(library, folder, name, x, bias, shape, n, threads, rows=False):
    layer = library.net_find(name.encode(), -2).contents
    packed = like(np.frombuffer((folder / layer.weights.decode()).read_bytes(), dtype=np.uint8))
    handle, why = ctypes.c_void_p(), ctypes.create_string_buffer(400)
    status = layer.open(packed.ctypes.data, packed.size, -2, ctypes.byref(handle), why, 400)
    check(status == 0, f"{name} opens on the processor {why.value.decode()}")
    if threads > 1:
        check(layer.use_threads(handle, threads) == 0, f"{name} takes {threads} threads")
    needed = ctypes.c_size_t()
    asked = layer.workspace_of_rows if rows else layer.workspace
    check(asked(handle, n, ctypes.byref(needed)) == 0, f"{name} says its workspace")
    workspace, x = aligned(max(needed.value, 1)), like(x)
    bias = None if bias is None else like(bias)
    y = like(np.full(shape, np.nan, dtype=np.float32))
    arguments = (handle, n, x.ctypes.data, None if bias is None else bias.ctypes.data, y.ctypes.data,
                 workspace.ctypes.data, needed.value)
    status = layer.launch_rows(*arguments) if rows else layer.launch(*arguments, None)
    if rows and n > 1:
        check(layer.launch_rows(*arguments[:-1], needed.value - 1) != 0, f"{name} asks for its whole workspace")
    check(status == 0, f"{name} is launched, n = {n}, {threads} threads")
    layer.close(handle)
    return y


def near(found, expected, what):
    scale = np.abs(expected).max()
    check(np.isfinite(found).all() and np.abs(found - expected).max() <= 1e-5 * scale, what)


def convolved(images, weights, pad, stride):
    padded = np.pad(images, ((0, 0), (0, 0), (pad, pad), (pad, pad))).astype(np.float64)
    height, width = ((padded.shape[i] - weights.shape[i]) // stride + 1 for i in (2, 3))
    out = np.zeros((images.shape[0], weights.shape[0], height, width))
    for r in range(weights.shape[2]):
        for s in range(weights.shape[3]):
            part = padded[:, :, r:r + stride * height:stride, s:s + stride * width:stride]
            out += np.einsum("bcpq,fc->bfpq", part, weights[:, :, r, s].astype(np.float64))
    return out


def main():
    weft = sys.argv[1]
    folder = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    random = np.random.default_rng(1)
    tensors = {"a.fc1.weight": pruned(random, (96, 70), 0.8), "a.fc1.bias": random.random(96).astype(np.float32),
               "b\"fc.weight": pruned(random, (33, 96), 0.9), "conv.weight": pruned(random, (12, 5, 3, 3), 0.8),
               "grouped.weight": pruned(random, (12, 5, 3, 3), 0.8), "dense.weight": pruned(random, (40, 40), 0.0)}
    write_safetensors(folder / "model.safetensors", tensors)
    (folder / "network.json").write_text(json.dumps({
        "weft_network": 1, "weights": "model.safetensors", "layers": [
            {"name": "a.fc1", "op": "linear", "weight": "a.fc1.weight", "bias": "a.fc1.bias", "n": 300, "activation": "relu"},
            {"name": "b\"fc", "op": "linear", "weight": "b\"fc.weight", "n": 20, "activation": "gelu"},
            {"name": "conv", "op": "conv2d", "weight": "conv.weight", "image": [11, 13], "pad": 1, "stride": 2},
            {"name": "grouped", "op": "conv2d", "weight": "grouped.weight", "image": [9, 17], "pad": 1, "groups": 2},
            {"name": "dense", "op": "linear", "weight": "dense.weight", "n": 20}]}))
    package = folder / "package"
    command = [weft, "model", "export", str(folder), "--name", "net", "-o", str(package), "--threads", "2", "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, "weft model export " + done.stderr[-400:])
    said = json.loads(done.stdout)
    check(said["layers"] == ["a.fc1", "b\"fc", "conv", "grouped"], "four layers, and the dense one is left out")
    before = {str(p): p.read_bytes() for p in package.rglob("*") if p.is_file()}
    shutil.rmtree(package / "layers" / json.loads((package / "layers.json").read_text())["layers"][0]["symbol"])
    (package / "layers.json").unlink()
    check(subprocess.run(command, capture_output=True).returncode == 0, "an export that was cut off goes on")
    check(before == {str(p): p.read_bytes() for p in package.rglob("*") if p.is_file()}, "to the same bytes")
    for step in (["cmake", "-S", str(package), "-B", str(package / "build")],
                 ["cmake", "--build", str(package / "build")]):
        built = subprocess.run(step, capture_output=True, text=True)
        check(built.returncode == 0, " ".join(step[:2]) + built.stderr[-400:])
    activations = {row["layer"]: row["activation"] for row in json.loads((package / "layers.json").read_text())["layers"]}
    check(activations == {"a.fc1": "relu", "b\"fc": "gelu", "conv": "none", "grouped": "none"}, "what follows a layer is its kernel's")
    library = ctypes.CDLL(str(package / "build" / "libnet.so"))
    library.net_find.restype = ctypes.POINTER(Layer)
    library.net_find.argtypes = [ctypes.c_char_p, ctypes.c_int32]
    check(not library.net_find(b"nosuch", -2), "no layer of another name")
    check(not library.net_find(b"conv", 0), "no layer for a GPU")
    for threads in (1, 2):
        for n in (1, 7, 20, 128, 300):
            x = random.standard_normal((70, n)).astype(np.float32)
            y = run(library, package, "a.fc1", x, tensors["a.fc1.bias"], (96, n), n, threads)
            summed = tensors["a.fc1.weight"].astype(np.float64) @ x + tensors["a.fc1.bias"][:, None]
            near(y, np.maximum(summed, 0), f"a.fc1 is right, n = {n}")
            turned = run(library, package, "a.fc1", np.ascontiguousarray(x.T), tensors["a.fc1.bias"], (n, 96), n, threads,
                         rows=True)
            check((turned == y.T).all(), f"a.fc1 with rows as frameworks have them is the same, n = {n}")
        x = random.standard_normal((96, 5)).astype(np.float32)
        summed = tensors["b\"fc.weight"].astype(np.float64) @ x
        near(run(library, package, "b\"fc", x, None, (33, 5), 5, threads),
             summed / 2 * (1 + np.vectorize(math.erf)(summed / math.sqrt(2))), "b\"fc is right")
        images = random.standard_normal((1, 5, 11, 13)).astype(np.float32)
        expected = convolved(images, tensors["conv.weight"], 1, 2)
        near(run(library, package, "conv", images, None, expected.shape, 0, threads), expected, "conv is right")
        images = random.standard_normal((1, 10, 9, 17)).astype(np.float32)
        parts = zip(np.split(images, 2, axis=1), np.split(tensors["grouped.weight"], 2))
        expected = np.concatenate([convolved(part, filters, 1, 1) for part, filters in parts], axis=1)
        near(run(library, package, "grouped", images, None, expected.shape, 0, threads), expected, "grouped is right")
    print(f"{checks.done} checks passed")
    if len(sys.argv) <= 2:
        shutil.rmtree(folder)


main()
