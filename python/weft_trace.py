"""Saves a PyTorch model for weft: its weights as .safetensors, and a network.json that says what its layers compute.

    import weft_trace
    weft_trace.save(model, example, "folder")     # folder/model.safetensors and folder/network.json

The example is a tensor, a tuple or a dictionary of inputs. The model runs on it once, and what its linear layers and
2-D convolutions are given there is written down. docs/network_file.md has the fields of network.json.
This file needs PyTorch and nothing else; it can be copied to where it is used. In weft's wheel it is weft.trace.
"""
import collections
import collections.abc
import contextlib
import ctypes
import json
import os
import sys
import types

import torch

# What .safetensors calls the elements.
_TYPES = {getattr(torch, name): code for name, code in {
    "float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2", "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "uint64": "U64",
    "uint32": "U32", "uint16": "U16", "uint8": "U8", "bool": "BOOL"}.items() if hasattr(torch, name)}
_WEIGHT_TYPES = ("F64", "F32", "F16", "BF16")


class TraceError(Exception):
    """Why a model cannot be saved."""


def save(model, example, folder, shard_bytes=5_000_000_000):
    """Writes the weights and network.json to the folder, and returns what network.json says.

    Files of the same names are replaced. More weights than `shard_bytes` are shared out over several files.
    """
    network, tensors = _traced(model, example)
    try:
        os.makedirs(folder, exist_ok=True)
        network["weights"] = _write_weights(folder, tensors, shard_bytes)
        with _replacing(os.path.join(folder, "network.json")) as out:
            out.write(_text_of(network).encode())
    except OSError as error:
        raise TraceError(f"the folder {folder} cannot be written: {error.strerror or error}") from error
    return network


class _Watch:
    """Sees layers run."""

    def __init__(self, model):
        self.runs = {}  # by module, in the order of their first runs
        self.sequences = collections.Counter()  # how often each Sequential ran
        kinds = (torch.nn.Linear, torch.nn.Conv2d, torch.nn.Sequential)
        self.hooks = [module.register_forward_hook(self._seen, with_kwargs=True)
                      for module in model.modules() if isinstance(module, kinds)]

    def _seen(self, module, inputs, named, output):
        if isinstance(module, torch.nn.Sequential):
            self.sequences[module] += 1
            return
        given = inputs[0] if inputs else named.get("input")
        run = self.runs.setdefault(module, types.SimpleNamespace(calls=0, size=0, fields={}, why=None))
        run.calls += 1
        if not isinstance(given, torch.Tensor) or given.numel() <= run.size:
            return
        run.size = given.numel()
        if isinstance(module, torch.nn.Linear):
            run.fields = {"n": given.numel() // given.shape[-1]}
            return
        pad, run.why = _padding_of(module)
        run.fields = {"batch": given.shape[0] if given.dim() == 4 else 1, "image": list(given.shape[-2:]),
                      "stride": list(module.stride), "pad": pad, "dilation": list(module.dilation),
                      "groups": module.groups, "layout": _layout_of(given, output)}


def _padding_of(convolution):
    """The padding as numbers, and why weft cannot have it."""
    pad = (0, 0) if convolution.padding == "valid" else convolution.padding
    if pad == "same":
        both = [d * (k - 1) for d, k in zip(convolution.dilation, convolution.kernel_size)]
        if any(one % 2 for one in both):
            return None, "its padding \"same\" is not the same on both sides"
        pad = [one // 2 for one in both]
    if convolution.padding_mode != "zeros" and any(pad):
        return None, f"its padding is \"{convolution.padding_mode}\" and not zeros"
    return list(pad), None


def _layout_of(given, output):
    # With one channel, or one pixel, both layouts are the same: then the output tells which one the network has.
    for images in (given, output):
        if images.dim() == 4:
            last = images.is_contiguous(memory_format=torch.channels_last)
            if last != images.is_contiguous():
                return "nhwc" if last else "nchw"
    return "nchw"


def _run(model, example):
    """Runs the model as it is used, not as it is trained, and returns what was seen."""
    inputs, named = (), {}
    if isinstance(example, torch.Tensor):
        inputs = (example,)
    elif isinstance(example, collections.abc.Mapping):
        named = dict(example)
    elif isinstance(example, (tuple, list)):
        inputs = tuple(example)
    else:
        raise TraceError(f"the example is {_described(example)}: a tensor, a tuple or a dictionary of them is accepted")
    training = [(module, module.training) for module in model.modules()]
    watch = _Watch(model)
    try:
        # train() and eval() may be a model's own, and do more.
        for module, _ in training:
            module.training = False
        with torch.no_grad(), _every_layer_by_itself():
            model(*inputs, **named)
    except Exception as error:
        raise TraceError(f"the model does not take the example, {_described(example)}: "
                         f"{type(error).__name__}: {error}") from error
    finally:
        for hook in watch.hooks:
            hook.remove()
        for module, was in training:
            module.training = was
    return watch


@contextlib.contextmanager
def _every_layer_by_itself():
    """Without what would pass the hooks by: compiled code, and transformer blocks that run as one call."""
    with contextlib.ExitStack() as stack:
        if "torch._dynamo" in sys.modules and hasattr(torch.compiler, "set_stance"):
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        fast = getattr(getattr(torch, "backends", None), "mha", None)
        if hasattr(fast, "set_fastpath_enabled"):
            stack.callback(fast.set_fastpath_enabled, fast.get_fastpath_enabled())
            fast.set_fastpath_enabled(False)
        yield


def _described(example):
    if isinstance(example, torch.Tensor):
        return f"{str(example.dtype).removeprefix('torch.')} {list(example.shape)}"
    if isinstance(example, collections.abc.Mapping):
        return "{" + ", ".join(f"{name}: {_described(one)}" for name, one in example.items()) + "}"
    if isinstance(example, (tuple, list)):
        return "(" + ", ".join(_described(one) for one in example) + ")"
    return type(example).__name__


def _activations(watch):
    """The activation that follows a layer at once in a Sequential, where nothing else can have the layer's output."""
    found = {}
    names = {torch.nn.ReLU: "relu", torch.nn.ReLU6: "relu6", torch.nn.GELU: "gelu", torch.nn.Tanh: "tanh",
             torch.nn.Sigmoid: "sigmoid", torch.nn.SiLU: "silu"}
    for sequence, runs in watch.sequences.items():
        if type(sequence).forward is not torch.nn.Sequential.forward:
            continue
        children = list(sequence._modules.values())
        for layer, follower in zip(children, children[1:]):
            # A layer that also ran elsewhere, or twice in here, has other users.
            if layer not in watch.runs or watch.runs[layer].calls != runs:
                continue
            # GELU by tanh is another function.
            if getattr(follower, "approximate", "none") == "none" and type(follower) in names:
                found[layer] = names[type(follower)]
    return found


_TOKENS_OF_CHAINS = 256  # from so many on it pays to leave features outermost
_ELEMENTWISE = ("ReLU", "ReLU6", "GELU", "Tanh", "Sigmoid", "SiLU", "Dropout", "Identity")


def _chains(model):
    """Pairs of linear layers between which elementwise functions alone stand: neighbours in a Sequential, and the layers of
    a gated block, as Llama has it. Where that is wrong of a block of these names, its layers copy what lies otherwise."""
    for module in model.modules():
        children = {name: child for name, child in module._modules.items() if child is not None}
        gated = [children.get(name) for name in ("gate_proj", "up_proj", "down_proj")]
        if all(isinstance(one, torch.nn.Linear) for one in gated):
            yield gated[0], gated[2]
            yield gated[1], gated[2]
        if not isinstance(module, torch.nn.Sequential) or type(module).forward is not torch.nn.Sequential.forward:
            continue
        last = None
        for child in children.values():
            if isinstance(child, torch.nn.Linear):
                if last is not None:
                    yield last, child
                last = child
            elif type(child).__name__ not in _ELEMENTWISE:
                last = None


def _layouts(model, watch):
    """By layer, how it takes and leaves its features, where that is not as PyTorch does."""
    before, behind = set(), set()
    for first, second in _chains(model):
        runs = [watch.runs.get(one) for one in (first, second)]
        if all(run is not None and run.fields.get("n", 0) >= _TOKENS_OF_CHAINS for run in runs):
            before.add(first)
            behind.add(second)
    return {layer: "kn" if layer in before & behind else "nk_mn" if layer in before else "kn_nm" for layer in before | behind}


def _why_left_out(module, parameter, tensor, run):
    """Nothing for the weight of a layer that weft can have."""
    kind = type(module).__name__
    if isinstance(module, (torch.nn.Linear, torch.nn.Conv2d)) and parameter == "weight":
        if run is None or not run.size:
            return "it did not run with the example, or on nothing"
        if tensor.dim() != (2 if isinstance(module, torch.nn.Linear) else 4):
            return f"its weight is {list(tensor.shape)}: a layer of its own kind"
        if _TYPES[tensor.dtype] not in _WEIGHT_TYPES:
            return f"its weights are of {tensor.dtype}: only floating-point weights of 16 bits and more are taken"
        return run.why
    if "Embedding" in kind:
        return "an embedding: rows are looked up"
    if kind == "Conv1D":
        return "its weights lie the other way, [in, out], as GPT-2's Conv1D has them"
    return f"a parameter of {kind}: neither a linear layer nor a 2-D convolution"


def _traced(model, example):
    """What network.json says, but for the path of the weights, and the tensors by name."""
    if not isinstance(model, torch.nn.Module):
        raise TraceError(f"the model is {type(model).__name__}: a torch.nn.Module is accepted")
    model = getattr(model, "_orig_mod", model)  # what torch.compile() wraps
    if type(model).__name__ in ("DataParallel", "DistributedDataParallel"):
        model = model.module
    meta = [name for name, one in [*model.named_parameters(), *model.named_buffers()] if one.device.type == "meta"]
    if meta:
        raise TraceError(f"{meta[0]} is on the meta device, which has no values ({len(meta)} tensors are): "
                         "load the weights first")
    watch = _run(model, example)
    names = {module: name for name, module in model.named_modules()}
    with torch.no_grad():
        stored = _stored(model)
    weights = {module: _joined(names[module], "weight") for module in watch.runs}
    for module, name in weights.items():
        if name not in stored:  # the layer makes it out of other tensors before each run
            stored[name] = (_checked(name, module.weight), None)
    called, tensors = _without_copies(stored, weights.values())
    activations, layouts, layers, left_out = _activations(watch), _layouts(model, watch), {}, []
    for module, name in weights.items():
        run, bias = watch.runs[module], called.get(_joined(names[module], "bias"))
        if _why_left_out(module, "weight", stored[name][0], run) is None:
            op = "linear" if isinstance(module, torch.nn.Linear) else "conv2d"
            layers[module] = {"name": names[module] or "model", "op": op, "weight": called[name], "bias": bias,
                              "layout": layouts.get(module), **run.fields, "activation": activations.get(module),
                              "calls": run.calls}
    for module, name in names.items():
        for parameter in () if module in layers else [*module._parameters, *_parametrized(module)]:
            parameter = parameter.removesuffix("_orig")
            full = _joined(name, parameter)
            if full in stored and stored[full][0].dim() >= 2:  # biases, norms and scales are no layers
                why = _why_left_out(module, parameter, stored[full][0], watch.runs.get(module))
                shown = name or "model" if parameter == "weight" else full
                left_out.append({"name": shown, "weight": called[full], "why": why})
    if not layers:
        found = "; ".join(f"{one['name']}: {one['why']}" for one in left_out[:3])
        raise TraceError("the model has no nn.Linear and no nn.Conv2d that ran with the example"
                         + (f" ({found})" if found else "") + "; scripted and exported models hide theirs")
    known = [{field: value for field, value in one.items() if value is not None} for one in layers.values()]
    return {"weft_network": 1, "weights": "", "layers": known, "left_out": left_out}, tensors


def _joined(module, name):
    return f"{module}.{name}" if module else name


def _parametrized(module):
    """Names of the tensors that torch.nn.utils.parametrize makes out of others."""
    found = getattr(module, "parametrizations", None)
    return list(found) if isinstance(found, torch.nn.ModuleDict) else []


def _stored(model):
    """Tensors of the model by name, each with the mask that torch.nn.utils.prune multiplies it with, or None."""
    state, stored = model.state_dict(keep_vars=True), {}
    for name, value in state.items():
        if isinstance(value, (tuple, list)) and any(isinstance(one, torch.Tensor) for one in value):
            raise TraceError(f"{name} holds packed weights, as quantised layers do: save the model as it was before")
        if not isinstance(value, torch.Tensor) or ".parametrizations." in "." + name:
            continue
        if name.endswith("_mask") and name.removesuffix("_mask") + "_orig" in state:
            continue
        mask = state.get(name.removesuffix("_orig") + "_mask") if name.endswith("_orig") else None
        stored[name if mask is None else name.removesuffix("_orig")] = (_checked(name, value), mask)
    for prefix, module in model.named_modules():
        for name in _parametrized(module):
            stored[_joined(prefix, name)] = (_checked(_joined(prefix, name), getattr(module, name)), None)
    return stored


def _checked(name, tensor):
    if tensor.dtype not in _TYPES:
        accepted = ", ".join(str(dtype).removeprefix("torch.") for dtype in _TYPES)
        raise TraceError(f"{name} has elements of {tensor.dtype}, which cannot be written: accepted are {accepted}; "
                         "save a quantised model as it was before")
    try:
        at_hand = tensor.layout == torch.strided and (tensor.data_ptr() or not tensor.numel())
    except (RuntimeError, ValueError):  # of distributed and other tensors that only look like one
        at_hand = False
    if not at_hand:
        raise TraceError(f"{name} is a {type(tensor).__name__} of {tensor.layout}, whose elements are not at hand: "
                         "make it a plain dense tensor first")
    return tensor


def _without_copies(stored, first):
    """For every name the one that its tensor is written by, and the tensors by these names. Those of layers win."""
    def place_of(one):
        return one if one is None else (str(one.device), one.data_ptr(), one.dtype, tuple(one.shape), one.stride())

    written, called = {}, {}
    for name in dict.fromkeys([*first, *stored]):
        tensor, mask = stored[name]
        called[name] = written.setdefault((place_of(tensor), place_of(mask)) if tensor.numel() else name, name)
    return called, {name: stored[name] for name in stored if called[name] == name}


@contextlib.contextmanager
def _replacing(path):
    """A file that takes the place of another when it is complete: the model may still be reading the old one."""
    try:
        with open(path + ".part", "wb") as out:
            yield out
        os.replace(path + ".part", path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(path + ".part")
        raise


def _write_weights(folder, tensors, shard_bytes):
    """Writes one file, or several and their index, and returns the name of what is to be read."""
    shards, room = [{}], shard_bytes
    for name, stored in tensors.items():
        if stored[0].nbytes > room and shards[-1]:
            shards, room = [*shards, {}], shard_bytes
        shards[-1][name] = stored
        room -= stored[0].nbytes
    numbers = range(1, len(shards) + 1) if len(shards) > 1 else ()
    files = [f"model-{number:05}-of-{len(shards):05}.safetensors" for number in numbers] or ["model.safetensors"]
    for file, shard in zip(files, shards):
        _write_file(os.path.join(folder, file), shard)
    if len(files) == 1:
        return files[0]
    index = {"metadata": {"total_size": sum(stored[0].nbytes for stored in tensors.values())},
             "weight_map": {name: file for file, shard in zip(files, shards) for name in shard}}
    with _replacing(os.path.join(folder, "model.safetensors.index.json")) as out:
        out.write(json.dumps(index, indent=2).encode())
    return "model.safetensors.index.json"


def _write_file(path, tensors):
    # Larger elements first: then each lies at a multiple of its size.
    order = sorted(tensors, key=lambda name: (-tensors[name][0].element_size(), name))
    header, end = {"__metadata__": {"format": "pt"}}, 0
    for name in order:
        tensor = tensors[name][0]
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": _TYPES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with _replacing(path) as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for name in order:
            tensor, mask = (one if one is None else one.detach() for one in tensors[name])
            if mask is not None:
                tensor = mask.to(dtype=tensor.dtype) * tensor
            tensor = tensor.cpu().contiguous()
            if tensor.numel():
                out.write((ctypes.c_char * tensor.nbytes).from_address(tensor.data_ptr()))


def _text_of(network):
    """JSON with one layer a line, for readers."""
    def shown(value):
        lines = ",\n    ".join(map(json.dumps, value)) if isinstance(value, list) else ""
        return f"[\n    {lines}\n  ]" if lines else json.dumps(value)

    return "{\n" + ",\n".join(f"  {json.dumps(name)}: {shown(value)}" for name, value in network.items()) + "\n}\n"
