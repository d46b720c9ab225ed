"""The 52 convolutions of ResNet-50 behind its first, dense, as cpu_network runs them pruned: PyTorch, eager and
with weights reordered beforehand, and ONNX Runtime, as the convolutions of a whole network and one graph each.

    cpu_network_beside.py [--threads 1] [--seconds 5]
"""
import argparse
import collections
import json
import os
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--seconds", type=float, default=5)
options = parser.parse_args()
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = str(options.threads)

import torch  # noqa: E402: the numbers of threads are read when it is loaded

torch.set_num_threads(options.threads)


def layers():
    channels, image = 64, 56
    for width, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if block == 0 and width > 64 else 1
            yield channels, width, 1, image, 1
            yield width, width, 3, image, stride
            yield width, 4 * width, 1, image // stride, 1
            if block == 0:
                yield channels, 4 * width, 1, image, stride
            channels, image = 4 * width, image // stride


def passes(run):
    times = []
    end = time.perf_counter() + options.seconds
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        run()
        times.append(1e6 * (time.perf_counter() - begin))
    times.sort()
    return times


def report(name, times):
    print(f"SUM dense {name} threads {options.threads}: pass {times[0]:.0f} us at best, "
          f"{times[len(times) // 2]:.0f} median of {len(times)}", flush=True)


def by_torch(layout, reordered):
    from torch.utils import mkldnn

    calls = []
    for channels, filters, size, image, stride in layers():
        module = torch.nn.Conv2d(channels, filters, size, stride, size // 2, bias=False).eval()
        data = torch.randn(1, channels, image, image)
        if reordered:
            calls.append((mkldnn.to_mkldnn(module), data.to_mkldnn()))
        else:
            calls.append((module.to(memory_format=layout), data.to(memory_format=layout)))

    def run():
        for module, data in calls:
            module(data)

    with torch.no_grad():
        return passes(run)


def graph(nodes, tensors, inputs, outputs, path):
    import onnx
    from onnx import TensorProto, helper

    values = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in side] for side in (inputs, outputs)]
    model = helper.make_model(helper.make_graph(nodes, "layers", *values, tensors),
                              opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)


def convolution(number, layer, data):
    from onnx import helper, numpy_helper

    channels, filters, size, image, stride = layer
    weight = torch.randn(filters, channels, size, size).numpy() / (channels * size * size) ** 0.5
    node = helper.make_node("Conv", [data, f"w{number}"], [f"y{number}"], kernel_shape=[size, size],
                            pads=[size // 2] * 4, strides=[stride, stride])
    return node, numpy_helper.from_array(weight, f"w{number}")


def session(path, profile=None):
    import onnxruntime

    how = onnxruntime.SessionOptions()
    how.intra_op_num_threads = options.threads
    how.inter_op_num_threads = 1
    if profile:
        how.enable_profiling = True
        how.profile_file_prefix = profile
    return onnxruntime.InferenceSession(path, how, providers=["CPUExecutionProvider"])


def by_graphs(folder):
    """Each convolution a graph of its own, so that images lie as frameworks have them."""
    calls = []
    for number, layer in enumerate(layers()):
        node, weight = convolution(number, layer, "x")
        channels, filters, _, image, stride = layer
        path = os.path.join(folder, f"{number}.onnx")
        graph([node], [weight], [("x", [1, channels, image, image])],
              [(f"y{number}", [1, filters, image // stride, image // stride])], path)
        calls.append((session(path), {"x": torch.randn(1, channels, image, image).numpy()}))

    def run():
        for one, data in calls:
            one.run(None, data)

    return passes(run)


def by_network(folder):
    """The chain of a network's blocks with their sums and ReLUs; the time of its convolutions alone, by ORT."""
    from onnx import helper

    nodes, tensors, number, data = [], [], 0, "x"
    blocks = [(width, block) for width, count in ((64, 3), (128, 4), (256, 6), (512, 3)) for block in range(count)]
    all_layers = iter(layers())

    def add(source, relu):
        nonlocal number
        node, weight = convolution(number, next(all_layers), source)
        nodes.append(node)
        tensors.append(weight)
        result = f"y{number}"
        number += 1
        if relu:
            nodes.append(helper.make_node("Relu", [result], [result + "r"]))
            result += "r"
        return result

    for width, block in blocks:
        source = data
        data = add(add(add(source, True), True), False)
        shortcut = add(source, False) if block == 0 else source
        nodes.append(helper.make_node("Add", [data, shortcut], [f"s{number}"]))
        nodes.append(helper.make_node("Relu", [f"s{number}"], [f"r{number}"]))
        data = f"r{number}"
    path = os.path.join(folder, "network.onnx")
    graph(nodes, tensors, [("x", [1, 64, 56, 56])], [(data, [1, 2048, 7, 7])], path)
    inputs = {"x": torch.randn(1, 64, 56, 56).numpy()}
    plain = session(path)
    whole = passes(lambda: plain.run(None, inputs))
    profiled = session(path, os.path.join(folder, "profile"))
    count = max(3, min(50, int(options.seconds * 1e6 / whole[0])))
    for _ in range(count):
        profiled.run(None, inputs)
    of_nodes = collections.defaultdict(list)
    with open(profiled.end_profiling()) as file:
        for event in json.load(file):
            if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
                of_nodes[event["name"]].append((event["args"]["op_name"], event["dur"]))
    convolutions = sum(min(d for _, d in runs) for runs in of_nodes.values() if "Conv" in runs[0][0])
    return whole, convolutions


def main():
    print("torch", torch.__version__)
    report("torch eager nchw", by_torch(torch.contiguous_format, False))
    report("torch eager nhwc", by_torch(torch.channels_last, False))
    try:
        report("torch reordered", by_torch(None, True))
    except Exception as error:  # it is built without oneDNN
        print("torch reordered:", error)
    try:
        import onnxruntime

        print("onnxruntime", onnxruntime.__version__)
    except ImportError as error:
        print("onnxruntime:", error)
        return
    with tempfile.TemporaryDirectory() as folder:
        report("onnxruntime, graphs", by_graphs(folder))
        whole, convolutions = by_network(folder)
        report("onnxruntime, a network", whole)
        print(f"SUM dense onnxruntime, convolutions of it threads {options.threads}: {convolutions:.0f} us")


main()
