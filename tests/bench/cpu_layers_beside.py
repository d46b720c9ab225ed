#!/usr/bin/env python3
"""Pruned layers on a CPU, each as a package that `weft export` wrote and cc built, beside what a user has: one process,
one thread, contestants in turns, warm, the fastest sample of each.

    cpu_layers_beside.py WEFT LAYERS.json [--sparsity 0.8,0.9,0.95] [--seconds 2] [--archs x86-64-v4] [--out FILE.jsonl]

LAYERS.json is a list of {"M", "K", "N"} for products and {"C", "F", "R", "image", "stride", "batch", "layout"} for
convolutions (stride 1, batch 1 and nchw where they are left out). Weights are drawn: as many in each row as a normal
distribution with a deviation of 0.3 of the mean says, at random columns. Every output of a package is compared with a
product in float64 of the same weights. A turn is a call that does not count and then as many as take two milliseconds.

Contestants, each where it can be imported: PyTorch eager and with weights reordered beforehand (oneDNN), its sparse csr;
ONNX Runtime; SciPy's csr; DeepSparse (whose licence allows evaluation), one layer, and where a layer can follow itself a
chain of six with ReLU, divided by six. `process` is the same kernel in weft's own process (`weft run`), which the package
should equal. Exits with 1 where a result is wrong.
"""
import argparse
import ctypes
import importlib.util
import json
import math
import os
import subprocess
import sys
import tempfile
import time

for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[name] = "1"
os.environ.setdefault("NM_DISABLE_ANALYTICS", "1")

import numpy as np  # noqa: E402: the numbers of threads are read when it is loaded


def is_here(module):
    return importlib.util.find_spec(module) is not None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("layers")
    parser.add_argument("--sparsity", default="0.8,0.9,0.95")
    parser.add_argument("--seconds", type=float, default=2, help="of one layer, contestants together")
    parser.add_argument("--archs", default="x86-64-v4", help="of the package; the newest that the processor has runs")
    parser.add_argument("--out", default="", help="a line of JSON a layer")
    parser.add_argument("--only", default="", help="contestants, with commas between them; weft always")
    return parser.parse_args()


class Layer:
    def __init__(self, said, sparsity, seed):
        self.said, self.sparsity = said, sparsity
        self.is_image = "C" in said
        if self.is_image:
            self.stride, self.batch = said.get("stride", 1), said.get("batch", 1)
            self.layout, self.filter = said.get("layout", "nchw"), said["R"]
            self.rows, self.columns = said["F"], said["C"] * self.filter**2
            self.pad, self.image = self.filter // 2, said["image"]
            self.out = (self.image + 2 * self.pad - self.filter) // self.stride + 1
        else:
            self.rows, self.columns, self.width = said["M"], said["K"], said["N"]
        self.weights = drawn(self.rows, self.columns, sparsity, seed)
        random = np.random.default_rng(seed + 1)
        shape = (self.batch, said["C"], self.image, self.image) if self.is_image else (self.columns, self.width)
        self.operand = random.standard_normal(shape, dtype=np.float32)

    def name(self):
        if not self.is_image:
            return f"{self.rows} x {self.columns} x {self.width}"
        extra = [f"stride {self.stride}"] * (self.stride > 1) + [f"batch {self.batch}"] * (self.batch > 1)
        extra += [self.layout] * (self.layout != "nchw")
        return ", ".join([f"{self.filter}x{self.filter}, {self.said['C']} to {self.rows}, {self.image}"] + extra)

    def filters(self):
        return self.weights.reshape(self.rows, self.said["C"], self.filter, self.filter)

    def expected(self):
        """In float64, NCHW."""
        if not self.is_image:
            return self.weights.astype(np.float64) @ self.operand.astype(np.float64)
        padded = np.pad(self.operand.astype(np.float64), ((0, 0), (0, 0), (self.pad,) * 2, (self.pad,) * 2))
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.filter,) * 2, axis=(2, 3))
        windows = windows[:, :, :: self.stride, :: self.stride].transpose(0, 2, 3, 1, 4, 5)
        columns = windows.reshape(-1, self.columns)
        product = columns @ self.weights.astype(np.float64).T
        return product.reshape(self.batch, self.out, self.out, self.rows).transpose(0, 3, 1, 2)

    def flags(self):
        if not self.is_image:
            return ["--op", "spmm", "--n", str(self.width)]
        return ["--op", "conv2d", "--filter", f"{self.filter}x{self.filter}", "--image", str(self.image), "--pad",
                str(self.pad), "--stride", str(self.stride), "--batch", str(self.batch), "--layout", self.layout]


def drawn(rows, columns, sparsity, seed):
    random = np.random.default_rng(seed)
    mean = columns * (1 - sparsity)
    weights = np.zeros((rows, columns), dtype=np.float32)
    for row in weights:
        kept = int(np.clip(round(random.normal(mean, 0.3 * mean)), 1, columns))
        row[random.choice(columns, kept, replace=False)] = random.standard_normal(kept, dtype=np.float32)
    return weights


class OpenDescription(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("abi", ctypes.c_uint32), ("device", ctypes.c_int32),
                ("flags", ctypes.c_uint32), ("weights", ctypes.c_void_p), ("weights_bytes", ctypes.c_size_t),
                ("dev_alloc", ctypes.c_void_p), ("dev_free", ctypes.c_void_p), ("alloc_ctx", ctypes.c_void_p),
                ("stream", ctypes.c_void_p), ("why", ctypes.c_char_p), ("why_bytes", ctypes.c_size_t),
                ("structure", ctypes.c_char_p)]


class CallArguments(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("flags", ctypes.c_uint32), ("b", ctypes.c_void_p),
                ("c", ctypes.c_void_p)]


def aligned(shape):
    """Zeros that begin at a multiple of 64 bytes."""
    count = math.prod(shape)
    memory = np.zeros(count * 4 + 64, dtype=np.uint8)
    begin = -memory.ctypes.data % 64
    return memory[begin : begin + count * 4].view(np.float32).reshape(shape)


class Package:
    """What `weft export` wrote, built by cc and opened for the host."""

    host = -2

    def __init__(self, weft, layer, archs, folder):
        np.save(f"{folder}/weights.npy", layer.weights)
        said = subprocess.run([weft, "export", "--weights", f"{folder}/weights.npy", "--dtype", "f32", "--archs",
                               archs, "--name", "layer", "-o", f"{folder}/package", *layer.flags()],
                              capture_output=True, text=True)
        if said.returncode:
            sys.exit(f"weft export: {said.stderr}")
        subprocess.run(f"cc -std=c11 -O2 -fPIC -shared -I{folder}/package/include {folder}/package/src/*.c "
                       f"{folder}/package/src/*.S -o {folder}/layer.so -lm -ldl", shell=True, check=True)
        self.library = ctypes.CDLL(f"{folder}/layer.so")
        self.weights = np.fromfile(f"{folder}/package/weights/layer.safetensors", dtype=np.uint8)
        kept = np.zeros(self.weights.size + 64, dtype=np.uint8)
        begin = -kept.ctypes.data % 64
        kept[begin : begin + self.weights.size] = self.weights
        self.kept = kept
        why = ctypes.create_string_buffer(512)
        opened = OpenDescription(ctypes.sizeof(OpenDescription), 1, self.host, 0, kept.ctypes.data + begin,
                                 self.weights.size, None, None, None, None, ctypes.cast(why, ctypes.c_char_p),
                                 512, None)
        self.handle = ctypes.c_void_p()
        status = self.library.layer_open(ctypes.byref(opened), ctypes.byref(self.handle))
        if status:
            sys.exit(f"layer_open: {status}, {why.value.decode()}")
        self.layer = layer
        orders = {"nchw": (0, 1, 2, 3), "nhwc": (0, 2, 3, 1), "chwn": (1, 2, 3, 0)}
        self.order = orders[layer.layout] if layer.is_image else (0, 1)
        given = layer.operand.transpose(self.order)
        self.b = aligned(given.shape)
        self.b[...] = given
        shape = (layer.batch, layer.rows, layer.out, layer.out) if layer.is_image else (layer.rows, layer.width)
        self.c = aligned(tuple(shape[i] for i in self.order))
        self.c[...] = np.nan
        self.arguments = CallArguments(ctypes.sizeof(CallArguments), 0, self.b.ctypes.data, self.c.ctypes.data)
        size = ctypes.c_size_t()
        self.library.layer_workspace(self.handle, ctypes.byref(self.arguments), ctypes.byref(size), None)
        self.workspace = aligned((size.value // 4 + 64,))
        launch, call = self.library.layer_launch, ctypes.byref(self.arguments)
        place = ctypes.c_void_p(-(-self.workspace.ctypes.data // 256) * 256)
        self.bytes = ctypes.c_size_t(size.value)
        self.call = lambda: launch(self.handle, call, place, self.bytes, None)

    def result(self):
        status = self.call()
        if status:
            sys.exit(f"layer_launch: {status}")
        back = np.argsort(self.order)
        return self.c.transpose(back)


def onnx_model(layer, count, folder):
    """A file with `count` of the layer one behind the other, with ReLU between them."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    nodes, initialisers, last = [], [], "x"
    for i in range(count):
        out = "y" if i == count - 1 else f"t{i}"
        made = out if i == count - 1 else f"s{i}"
        if layer.is_image:
            initialisers.append(numpy_helper.from_array(np.ascontiguousarray(layer.filters()), f"w{i}"))
            nodes.append(helper.make_node("Conv", [last, f"w{i}"], [made], kernel_shape=[layer.filter] * 2,
                                          pads=[layer.pad] * 4, strides=[layer.stride] * 2))
        else:
            initialisers.append(numpy_helper.from_array(np.ascontiguousarray(layer.weights.T), f"w{i}"))
            nodes.append(helper.make_node("MatMul", [last, f"w{i}"], [made]))
        if made != out:
            nodes.append(helper.make_node("Relu", [made], [out]))
        last = out
    given = list(layer.operand.shape) if layer.is_image else [layer.width, layer.columns]
    results = [layer.batch, layer.rows, layer.out, layer.out] if layer.is_image else [layer.width, layer.rows]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, given)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, results)], initialisers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 7
    path = f"{folder}/model{count}.onnx"
    onnx.save(model, path)
    return path


def network_input(layer):
    return np.ascontiguousarray(layer.operand if layer.is_image else layer.operand.T)


def of_onnxruntime(layer, folder):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(onnx_model(layer, 1, folder), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("x", network_input(layer))
    binding.bind_output("y", "cpu")
    yield "ONNX Runtime", 1, lambda: session.run_with_iobinding(binding)


def of_deepsparse(layer, folder):
    import deepsparse
    counts = [1]
    if layer.is_image and layer.stride == 1 and layer.said["C"] == layer.rows:
        counts.append(6)
    for count in counts:
        engine = deepsparse.Engine(onnx_model(layer, count, folder), batch_size=layer.operand.shape[0] if
                                   layer.is_image else layer.width, num_cores=1)
        given = [network_input(layer)]
        yield f"DeepSparse of {count}", count, lambda engine=engine, given=given: engine.run(given, val_inp=False)


def of_torch(layer, _folder):
    import torch
    import torch.utils.mkldnn
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    given = torch.from_numpy(layer.operand)
    if layer.is_image:
        filters = torch.from_numpy(np.ascontiguousarray(layer.filters()))
        convolve = torch.nn.functional.conv2d
        say = {"stride": layer.stride, "padding": layer.pad}
        last = given.contiguous(memory_format=torch.channels_last)
        filters_last = filters.contiguous(memory_format=torch.channels_last)
        yield "PyTorch", 1, lambda: convolve(given, filters, **say)
        yield "PyTorch nhwc", 1, lambda: convolve(last, filters_last, **say)
        module = torch.nn.Conv2d(layer.said["C"], layer.rows, layer.filter, stride=layer.stride, padding=layer.pad,
                                 bias=False)
        module.weight.copy_(filters)
        packed = torch.utils.mkldnn.to_mkldnn(module.eval())
        blocked = given.to_mkldnn()
        yield "PyTorch reordered", 1, lambda: packed(blocked)
        return
    weights = torch.from_numpy(layer.weights)
    out = torch.empty(layer.rows, layer.width)
    yield "PyTorch", 1, lambda: torch.mm(weights, given, out=out)
    tokens = given.T.contiguous()
    yield "PyTorch linear", 1, lambda: torch.nn.functional.linear(tokens, weights)
    sparse = weights.to_sparse_csr()
    yield "PyTorch csr", 1, lambda: sparse @ given


def of_scipy(layer, _folder):
    import scipy.sparse
    if layer.is_image:
        return
    sparse = scipy.sparse.csr_array(layer.weights)
    yield "SciPy csr", 1, lambda: sparse @ layer.operand


def of_libraries(layer, _folder):
    """Dense products of oneDNN and OpenBLAS as the system has them."""
    if layer.is_image:
        return
    m, k, n = layer.rows, layer.columns, layer.width
    size, one, none = ctypes.c_int64, ctypes.c_float(1), ctypes.c_float(0)
    arrays = [np.ascontiguousarray(layer.weights), layer.operand, aligned((m, n))]
    a, b, c = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
    for name, file in (("oneDNN", "libdnnl.so.2"), ("OpenBLAS", "libopenblas.so.0")):
        try:
            library = ctypes.CDLL(file)
        except OSError:
            continue
        library.operands = arrays  # which live as long as it does
        if name == "oneDNN":
            letter = ctypes.c_char(b"N")
            yield name, 1, lambda gemm=library.dnnl_sgemm: gemm(letter, letter, size(m), size(n), size(k), one, a, size(k),
                                                               b, size(n), none, c, size(n))
        else:
            rows_first, as_it_lies = 101, 111
            yield name, 1, lambda gemm=library.cblas_sgemm: gemm(rows_first, as_it_lies, as_it_lies, m, n, k, one, a, k, b,
                                                                 n, none, c, n)


dense_ones = ("oneDNN", "OpenBLAS", "ONNX Runtime", "PyTorch", "PyTorch nhwc", "PyTorch reordered", "PyTorch linear")
ways = {"torch": of_torch, "onnxruntime": of_onnxruntime, "scipy": of_scipy, "deepsparse": of_deepsparse}


def sample(call, divisor, repeats):
    call()
    begin = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - begin) * 1e6 / repeats / divisor


def in_turns(contestants, seconds):
    repeats, best = {}, {}
    for name, divisor, call in contestants:
        one = min(sample(call, 1, 1) for _ in range(3))
        repeats[name], best[name] = max(1, math.ceil(2000 / max(one, 1e-3))), math.inf
    until, turn = time.perf_counter() + seconds, 0
    while turn < 3 or time.perf_counter() < until:
        for name, divisor, call in contestants[turn % len(contestants):] + contestants[: turn % len(contestants)]:
            best[name] = min(best[name], sample(call, divisor, repeats[name]))
        turn += 1
    return best


def in_process(weft, layer, folder):
    """Of the kernel that weft runs itself, the least of its samples; three runs of it."""
    times = []
    for _ in range(3):
        said = subprocess.run([weft, "run", "--weights", f"{folder}/weights.npy", "--dtype", "f32", "--device", "cpu",
                               "--threads", "1", "--json", *layer.flags()], capture_output=True, text=True)
        if said.returncode:
            sys.exit(f"weft run: {said.stderr}")
        times.append(json.loads(said.stdout)["us"]["minimum"])
    return min(times)


def measured(options, layer):
    only = [name for name in options.only.split(",") if name]
    with tempfile.TemporaryDirectory() as folder:
        package = Package(options.weft, layer, options.archs, folder)
        expected = layer.expected()
        scale = np.abs(layer.weights.astype(np.float64)).sum(axis=1).max() * np.abs(layer.operand).max()
        error = np.abs(package.result() - expected).max() / scale
        contestants = [("weft", 1, package.call)]
        if not only or "libraries" in only:
            contestants.extend(of_libraries(layer, folder))
        for module, way in ways.items():
            if is_here(module) and (not only or module in only):
                contestants.extend(way(layer, folder))
        times = in_turns(contestants, options.seconds)
        times["process"] = in_process(options.weft, layer, folder)
    return error, times


def mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def main():
    options = arguments()
    with open(options.layers) as file:
        layers = json.load(file)
    wrong = 0
    ratios = {}
    for sparsity in [float(text) for text in options.sparsity.split(",")]:
        for number, said in enumerate(layers):
            layer = Layer(said, sparsity, 1000 * number + round(100 * sparsity))
            error, times = measured(options, layer)
            right = bool(error < 1e-5)
            wrong += not right
            known = [times[name] for name in dense_ones if name in times]
            if known:
                ratios.setdefault(("dense", sparsity), []).append(min(known) / times["weft"])
            pruned = [us for name, us in times.items() if name.startswith("DeepSparse")]
            if pruned:
                ratios.setdefault(("DeepSparse", sparsity), []).append(min(pruned) / times["weft"])
            ratios.setdefault(("process", sparsity), []).append(times["process"] / times["weft"])
            print(f"{layer.name():34} {sparsity:4} " + ", ".join(f"{name} {us:.0f}" for name, us in times.items()) +
                  ("" if right else f"  WRONG by {error:.1e}"), flush=True)
            if options.out:
                with open(options.out, "a") as file:
                    json.dump({"layer": said, "name": layer.name(), "sparsity": sparsity, "error": float(error),
                               "us": times}, file)
                    file.write("\n")
    for (what, sparsity), of_layers in sorted(ratios.items()):
        print(f"{what} over weft at {sparsity}: {mean(of_layers):.2f} in the geometric mean, {min(of_layers):.2f} at least")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
