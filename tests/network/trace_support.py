"""What the checks of weft_trace.py have in common: files are read back, and have to be as weft reads them."""
import json
import struct

import torch
from torch import nn

import weft_trace

SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
LAYER_FIELDS = {"linear": {"n"}, "conv2d": {"batch", "image", "stride", "pad", "dilation", "groups", "layout"}}
CHECKS = []


def check(function):
    CHECKS.append(function)
    return function


def expect(found, expected, what="found"):
    if found != expected:
        raise AssertionError(f"{what}: {found!r} instead of {expected!r}")


def tensors_of(path):
    """Name, type, shape and bytes of each tensor; the file has to keep to the format."""
    data = path.read_bytes()
    length = int.from_bytes(data[:8], "little")
    expect(length % 8, 0, "rest of the header's length by 8")
    header = json.loads(data[8:8 + length])
    expect(header.pop("__metadata__"), {"format": "pt"})
    found, end = {}, 0
    for name, entry in header.items():
        expect(set(entry), {"dtype", "shape", "data_offsets"})
        expect(entry["data_offsets"][0], end, f"where {name} begins")
        end, count = entry["data_offsets"][1], 1
        for extent in entry["shape"]:
            count *= extent
        expect(end - entry["data_offsets"][0], count * SIZES[entry["dtype"]], f"bytes of {name}")
        found[name] = (entry["dtype"], entry["shape"], data[8 + length + entry["data_offsets"][0]:8 + length + end])
    expect(8 + length + end, len(data), "bytes of the file")
    expect(list(found), sorted(found, key=lambda name: (-SIZES[found[name][0]], name)), "order")
    return found


def saved(model, example, folder, **options):
    """network.json and all tensors. The file has to be one that weft reads."""
    returned = weft_trace.save(model, example, folder, **options)
    network = json.loads((folder / "network.json").read_text())
    expect(network, returned)
    expect(list(network), ["weft_network", "weights", "layers", "left_out"])
    if network["weights"].endswith(".index.json"):
        index = json.loads((folder / network["weights"]).read_text())
        tensors = {}
        for file in sorted(set(index["weight_map"].values())):
            shard = tensors_of(folder / file)
            expect({name for name, where in index["weight_map"].items() if where == file}, set(shard))
            tensors.update(shard)
        expect(index["metadata"]["total_size"], sum(len(data) for _, _, data in tensors.values()))
    else:
        expect(network["weights"], "model.safetensors")
        tensors = tensors_of(folder / "model.safetensors")
    names = [one["name"] for one in network["layers"] + network["left_out"]]
    expect(len(names), len(set(names)), f"different names of {names}")
    for layer in network["layers"]:
        allowed = {"name", "op", "weight", "bias", "activation", "calls", "layout"} | LAYER_FIELDS[layer["op"]]
        expect(set(layer) - allowed, set(), "fields that nobody reads")
        expect(LAYER_FIELDS[layer["op"]] - set(layer), set(), "fields that are missing")
        for field in ("weight", "bias"):
            expect(layer.get(field, layer["weight"]) in tensors, True, f"{field} of {layer} is there")
    for layer in network["left_out"]:
        expect(set(layer), {"name", "weight", "why"})
        expect(layer["weight"] in tensors and bool(layer["why"]), True, f"{layer} is there, with a reason")
    expect([str(path) for path in folder.iterdir() if path.suffix == ".part"], [])
    return network, tensors


def layers_of(model, example, folder):
    return {one["name"]: one for one in saved(model, example, folder)[0]["layers"]}


def refused(words, function, *arguments, cause=None):
    try:
        function(*arguments)
    except weft_trace.TraceError as error:
        text = str(error)
        if not all(word in text for word in words):
            raise AssertionError(f"{words} are not all in: {text}") from error
        if cause and not isinstance(error.__cause__, cause):
            raise AssertionError(f"the cause is {error.__cause__!r}") from error
        return
    raise AssertionError(f"was not refused; expected {words}")


def filled(layer, values, name="weight", dtype=None):
    """The layer with these values, row by row, in a parameter."""
    shape = tuple(getattr(layer, name).shape)
    setattr(layer, name, nn.Parameter(torch.tensor(values, dtype=dtype or torch.float32).reshape(shape)))
    return layer


def floats(values):
    return struct.pack(f"<{len(values)}f", *values)
