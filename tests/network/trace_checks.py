"""What holds with any torch, also with one that computes nothing."""
import json
import struct

import torch
import weft_trace
from torch import nn
from torch.nn.utils import prune
from trace_support import check, expect, filled, floats, layers_of, refused, saved


@check
def linear_layers_with_tokens(folder):
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4, bias=False))
    network, tensors = saved(model, torch.zeros(2, 3, 8), folder)
    expect(network["layers"], [
        {"name": "0", "op": "linear", "weight": "0.weight", "bias": "0.bias", "n": 6, "activation": "relu", "calls": 1},
        {"name": "2", "op": "linear", "weight": "2.weight", "n": 6, "calls": 1}])
    expect(network["left_out"], [])
    expect({name: (one[0], one[1]) for name, one in tensors.items()},
           {"0.bias": ("F32", [16]), "0.weight": ("F32", [16, 8]), "2.weight": ("F32", [4, 16])})


@check
def a_vector_is_one_token(folder):
    expect(layers_of(nn.Sequential(nn.Linear(8, 4)), torch.zeros(8), folder)["0"]["n"], 1)


@check
def convolutions_with_their_images(folder):
    model = nn.Sequential(nn.Conv2d(4, 8, (3, 5), stride=(2, 1), padding=(1, 2), dilation=(1, 2), groups=2),
                          nn.ReLU(), nn.Conv2d(8, 2, 1, bias=False))
    network, _ = saved(model, torch.zeros(3, 4, 20, 24), folder)
    expect(network["layers"][0], {
        "name": "0", "op": "conv2d", "weight": "0.weight", "bias": "0.bias", "batch": 3, "image": [20, 24],
        "stride": [2, 1], "pad": [1, 2], "dilation": [1, 2], "groups": 2, "layout": "nchw", "activation": "relu",
        "calls": 1})
    expect(network["layers"][1], {
        "name": "2", "op": "conv2d", "weight": "2.weight", "batch": 3, "image": [10, 20], "stride": [1, 1],
        "pad": [0, 0], "dilation": [1, 1], "groups": 1, "layout": "nchw", "calls": 1})


@check
def an_image_without_a_batch(folder):
    layer = layers_of(nn.Sequential(nn.Conv2d(2, 2, 3)), torch.zeros(2, 7, 9), folder)["0"]
    expect((layer["batch"], layer["image"]), (1, [7, 9]))


@check
def padding_by_words(folder):
    for words, size, expected in (("same", 3, [1, 1]), ("same", (3, 5), [1, 2]), ("valid", 3, [0, 0])):
        layer = layers_of(nn.Sequential(nn.Conv2d(2, 2, size, padding=words)), torch.zeros(1, 2, 9, 9), folder)["0"]
        expect(layer["pad"], expected, words)
    dilated = nn.Sequential(nn.Conv2d(2, 2, 3, padding="same", dilation=2))
    expect(layers_of(dilated, torch.zeros(1, 2, 9, 9), folder)["0"]["pad"], [2, 2])


@check
def padding_that_weft_cannot_have(folder):
    model = nn.Sequential(nn.Conv2d(2, 2, 4, padding="same"), nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect"),
                          nn.Conv2d(2, 2, 3, padding_mode="circular"))
    network, _ = saved(model, torch.zeros(1, 2, 9, 9), folder)
    expect([one["name"] for one in network["layers"]], ["2"])
    expect([one["why"] for one in network["left_out"]],
           ["its padding \"same\" is not the same on both sides", "its padding is \"reflect\" and not zeros"])


@check
def channels_last_is_nhwc(folder):
    images = torch.zeros(2, 3, 8, 8)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3))
    for given, layout in ((images, "nchw"), (images.contiguous(memory_format=torch.channels_last), "nhwc")):
        expect([one["layout"] for one in layers_of(model, given, folder).values()], [layout] * 2)


@check
def one_channel_lies_the_same_in_both_layouts(folder):
    one, wide = torch.zeros(2, 1, 8, 8), torch.zeros(2, 4, 8, 8)
    last = wide.contiguous(memory_format=torch.channels_last)
    expect([weft_trace._layout_of(one, output) for output in (wide, last, one)], ["nchw", "nhwc", "nchw"])


@check
def several_runs_keep_the_largest(folder):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.late, self.shared = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, few, many):
            self.shared(few)
            self.shared(many)
            return self.late(self.shared(few))

    network, _ = saved(Model(), (torch.zeros(2, 4), torch.zeros(7, 4)), folder)
    expect([(one["name"], one["n"], one["calls"]) for one in network["layers"]], [("shared", 7, 3), ("late", 2, 1)])


@check
def activations_of_a_sequential(folder):
    class Ends(nn.Sequential):
        def forward(self, given):
            return super().forward(given)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4), nn.GELU(approximate="tanh"),
                                       nn.Linear(4, 4), nn.LayerNorm(4), nn.ReLU())
            self.own = Ends(nn.Linear(4, 4), nn.ReLU())
            self.passed_by = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            self.twice = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
            shared = nn.Linear(4, 4)
            self.inside = nn.Sequential(shared, nn.ReLU(), shared)
            self.alone = nn.Linear(4, 4)
            self.relu = nn.ReLU()

        def forward(self, given):
            given = self.own(self.plain(given))
            given = self.passed_by[1](self.passed_by[0](given))
            given = self.twice[0](self.twice(given))
            return self.relu(self.alone(self.inside(given)))

    layers = layers_of(Model(), torch.zeros(2, 4), folder)
    expect(len(layers), 8)
    expect({name: one["activation"] for name, one in layers.items() if "activation" in one}, {"plain.0": "gelu"})


@check
def features_stay_outermost_between_layers(folder):
    class Gated(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate_proj, self.up_proj, self.down_proj = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)

        def forward(self, x):
            self.gate_proj(x)
            return self.down_proj(self.up_proj(x))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.gated = Gated()
            self.three = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.Linear(8, 8), nn.Linear(8, 8))
            self.apart = nn.Sequential(nn.Linear(8, 8), nn.Sequential(nn.ReLU()), nn.Linear(8, 8))

        def forward(self, x):
            return self.apart(self.three(self.gated(x)))

    layers = layers_of(Model(), torch.zeros(2, 128, 8), folder)
    expect({name: layer.get("layout") for name, layer in layers.items()},
           {"gated.gate_proj": "nk_mn", "gated.up_proj": "nk_mn", "gated.down_proj": "kn_nm", "three.0": "nk_mn",
            "three.2": "kn", "three.3": "kn_nm", "apart.0": None, "apart.2": None})
    few = layers_of(Model(), torch.zeros(2, 127, 8), folder)
    expect([name for name, layer in few.items() if "layout" in layer], [])


@check
def what_is_left_out_has_a_reason(folder):
    class Other(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.zeros(4))
            self.table = nn.Parameter(torch.zeros(4, 4))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.norm, self.used = nn.Embedding(10, 4), nn.LayerNorm(4), nn.Linear(4, 4)
            self.unused, self.wave, self.other = nn.Linear(4, 4), nn.Conv1d(4, 4, 3), Other()

        def forward(self, given):
            return self.used(self.norm(self.embed(given)))

    model = Model()
    network, tensors = saved(model, torch.zeros(2, 3, dtype=torch.int64), folder)
    expect([one["name"] for one in network["layers"]], ["used"])
    expect(network["left_out"], [
        {"name": "embed", "weight": "embed.weight", "why": "an embedding: rows are looked up"},
        {"name": "unused", "weight": "unused.weight", "why": "it did not run with the example, or on nothing"},
        {"name": "wave", "weight": "wave.weight",
         "why": "a parameter of Conv1d: neither a linear layer nor a 2-D convolution"},
        {"name": "other.table", "weight": "other.table",
         "why": "a parameter of Other: neither a linear layer nor a 2-D convolution"}])
    expect(set(tensors), set(model.state_dict(keep_vars=True)))


@check
def pruned_weights_are_written_as_they_act(folder):
    values = [1.5, -2.0, 3.0, 4.0, -5.0, 6.0]
    model = nn.Sequential(filled(nn.Linear(3, 2), values))
    mask = torch.tensor([1.0, 0, 0, 0, 1, 1]).reshape(2, 3)
    prune.custom_from_mask(model[0], "weight", mask)
    prune.custom_from_mask(model[0], "bias", torch.tensor([1.0, 0]))
    network, tensors = saved(model, torch.zeros(1, 3), folder)
    expect(set(tensors), {"0.weight", "0.bias"})
    expect((network["layers"][0]["weight"], network["layers"][0]["bias"]), ("0.weight", "0.bias"))
    expect(struct.unpack("<6f", tensors["0.weight"][2]), (1.5, 0, 0, 0, -5, 6))


@check
def pruned_layers_that_did_not_run(folder):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(2, 2), filled(nn.Linear(2, 2), [1, 2, 3, 4])

        def forward(self, given):
            return self.used(given)

    model = Model()
    prune.custom_from_mask(model.unused, "weight", torch.tensor([1.0, 0, 0, 1]).reshape(2, 2))
    network, tensors = saved(model, torch.zeros(1, 2), folder)
    expect([(one["name"], one["weight"]) for one in network["left_out"]], [("unused", "unused.weight")])
    expect(tensors["unused.weight"][2], floats([1, 0, 0, 4]))


@check
def tied_weights_are_written_once(folder):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.body, self.head = nn.Embedding(10, 4), nn.Linear(4, 4), nn.Linear(4, 10, bias=False)
            self.head.weight = self.embed.weight
            self.again = self.body
            self.twin = nn.Linear(4, 4)
            self.twin.weight = self.body.weight

        def forward(self, given):
            return self.head(self.twin(self.again(self.body(self.embed(given)))))

    network, tensors = saved(Model(), torch.zeros(3, dtype=torch.int64), folder)
    expect(set(tensors), {"head.weight", "body.weight", "body.bias", "twin.bias"})
    expect([(one["name"], one["weight"], one["calls"]) for one in network["layers"]],
           [("body", "body.weight", 2), ("twin", "body.weight", 1), ("head", "head.weight", 1)])
    expect([(one["name"], one["weight"]) for one in network["left_out"]], [("embed", "head.weight")])


@check
def tied_weights_that_are_pruned_apart(folder):
    model = nn.Sequential(filled(nn.Linear(2, 2, bias=False), [1, 2, 3, 4]), nn.Linear(2, 2, bias=False))
    model[1].weight = model[0].weight
    for layer, mask in zip(model.modules(), [None, [1.0, 0, 0, 0], [0, 0, 0, 1.0]]):
        if mask:
            prune.custom_from_mask(layer, "weight", torch.tensor(mask).reshape(2, 2))
    tensors = saved(model, torch.zeros(1, 2), folder)[1]
    expect({name: one[2] for name, one in tensors.items()},
           {"0.weight": floats([1, 0, 0, 0]), "1.weight": floats([0, 0, 0, 4])})


@check
def weights_that_lie_otherwise_are_written_row_by_row(folder):
    linear = nn.Linear(3, 2, bias=False)
    linear.weight = nn.Parameter(torch.tensor([1.0, 4, 2, 5, 3, 6]).reshape(3, 2).t())
    conv = nn.Conv2d(2, 1, (2, 2), bias=False)
    values = torch.tensor([float(i) for i in range(8)]).reshape(1, 2, 2, 2)
    conv.weight = nn.Parameter(values.contiguous(memory_format=torch.channels_last))
    tensors = saved(nn.Sequential(conv, nn.Linear(4, 3), linear), torch.zeros(1, 2, 2, 5), folder)[1]
    expect(tensors["2.weight"], ("F32", [2, 3], floats([1, 2, 3, 4, 5, 6])))
    expect(tensors["0.weight"], ("F32", [1, 2, 2, 2], floats(range(8))))


@check
def element_types(folder):
    model = nn.Sequential(nn.Linear(2, 2, bias=False))
    expected = {"0.weight": ("F32", [2, 2])}
    for name, code, letter in (("float64", "F64", "d"), ("float16", "F16", "e"), ("int64", "I64", "q"),
                               ("int32", "I32", "i"), ("int16", "I16", "h"), ("int8", "I8", "b"), ("uint8", "U8", "B"),
                               ("bool", "BOOL", "?"), ("bfloat16", "BF16", None)):
        model.register_buffer("of_" + name, torch.tensor([1, 0, 3], dtype=getattr(torch, name)))
        data = struct.pack(f"<3{letter}", 1, 0, 3) if letter else bytes([0x80, 0x3f, 0, 0, 0x40, 0x40])
        expected["of_" + name] = (code, [3], data)
    model.register_buffer("none", torch.zeros(0, 4))
    expected["none"] = ("F32", [0, 4], b"")
    model.register_buffer("scalar", torch.tensor([7.0]).reshape(()))
    expected["scalar"] = ("F32", [], floats([7]))
    tensors = saved(model, torch.zeros(1, 2), folder)[1]
    expected["0.weight"] = tensors["0.weight"]
    expect(tensors, expected)


@check
def half_weights_keep_their_zeros(folder):
    layer = nn.Linear(2, 2, bias=False, dtype=torch.bfloat16)
    model = nn.Sequential(filled(layer, [1, -2, 3, 4], dtype=torch.bfloat16))
    mask = torch.tensor([1, 0, 0, 1], dtype=torch.bfloat16).reshape(2, 2)
    prune.custom_from_mask(model[0], "weight", mask)
    example = torch.tensor([0, 0], dtype=torch.bfloat16).reshape(1, 2)
    code, shape, data = saved(model, example, folder)[1]["0.weight"]
    expect((code, shape), ("BF16", [2, 2]))
    expect([one & 0x7fff for one in struct.unpack("<4H", data)], [0x3f80, 0, 0, 0x4080])  # without signs


@check
def large_weights_go_to_several_files(folder):
    model = nn.Sequential(*[nn.Linear(8, 8) for _ in range(5)])
    network, tensors = saved(model, torch.zeros(1, 8), folder, shard_bytes=600)
    expect(network["weights"], "model.safetensors.index.json")
    expect(len(tensors), 10)
    files = sorted(path.name for path in folder.glob("*.safetensors"))
    expect(files, [f"model-{i:05}-of-00003.safetensors" for i in (1, 2, 3)])
    largest = saved(model, torch.zeros(1, 8), folder, shard_bytes=1)
    expect(len(set(json.loads((folder / largest[0]["weights"]).read_text())["weight_map"].values())), 10)


@check
def examples_in_every_form(folder):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, left, right=None):
            return self.fc(input=left if right is None else right)

    small, large = torch.zeros(2, 4), torch.zeros(5, 4)
    for example, n in ((small, 2), ((small, large), 5), ([small], 2), ({"right": large, "left": small}, 5)):
        expect(layers_of(Model(), example, folder)["fc"]["n"], n)


@check
def a_layer_that_is_the_whole_model(folder):
    network, tensors = saved(nn.Linear(4, 2), torch.zeros(3, 4), folder)
    expect(network["layers"], [
        {"name": "model", "op": "linear", "weight": "weight", "bias": "bias", "n": 3, "calls": 1}])
    expect(set(tensors), {"weight", "bias"})


@check
def the_model_is_left_as_it_was(folder):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.seen = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), None
            self.body.training = False

        def forward(self, given):
            self.seen = self.training
            return self.body(given)

    model = Model()
    saved(model, torch.zeros(1, 4), folder)
    expect((model.seen, model.training, model.body.training, model.body[0].training), (False, True, False, True))
    expect(sum(len(module._forward_hooks) for module in model.modules()), 0, "hooks")
    refused(["does not take the example"], saved, model, torch.zeros(1, 5), folder)
    expect((model.training, sum(len(module._forward_hooks) for module in model.modules())), (True, 0))


@check
def old_files_are_replaced(folder):
    saved(nn.Linear(4, 2), torch.zeros(3, 4), folder)
    first = (folder / "model.safetensors").open("rb")
    before = first.read()
    saved(nn.Linear(6, 2), torch.zeros(3, 6), folder)
    first.seek(0)
    expect(first.read(), before, "the file that was open")


@check
def paths_of_both_kinds(folder):
    weft_trace.save(nn.Linear(4, 2), torch.zeros(3, 4), str(folder / "new" / "folder"))
    weft_trace.save(nn.Linear(4, 2), torch.zeros(3, 4), folder / "new" / "folder")
    expect(sorted(path.name for path in (folder / "new" / "folder").iterdir()), ["model.safetensors", "network.json"])


@check
def refuses_what_it_cannot_save(folder):
    one = torch.zeros(1, 4)
    refused(["no nn.Linear and no nn.Conv2d", "0: an embedding"], saved, nn.Sequential(nn.Embedding(4, 4)),
            torch.zeros(2, dtype=torch.int64), folder)
    refused(["no nn.Linear"], saved, nn.Sequential(nn.ReLU()), one, folder)
    refused(["the model is dict", "torch.nn.Module"], saved, {"weight": one}, one, folder)
    refused(["the example is str", "a tensor, a tuple or a dictionary"], saved, nn.Linear(4, 4), "text", folder)
    refused(["does not take the example, float32 [1, 5]", "RuntimeError", "cannot be multiplied"], saved,
            nn.Linear(4, 4), torch.zeros(1, 5), folder, cause=RuntimeError)
    refused(["does not take the example, {unknown: (float32 [1, 4], int)}", "TypeError"], saved, nn.Linear(4, 4),
            {"unknown": (one, 3)}, folder, cause=TypeError)
    expect(list(folder.iterdir()), [])


@check
def refuses_tensors_without_values(folder):
    model = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4, device="meta"))
    refused(["1.weight is on the meta device", "2 tensors", "load the weights first"], saved, model, torch.zeros(1, 4),
            folder)


@check
def refuses_elements_without_a_name(folder):
    model = nn.Sequential(nn.Linear(4, 4))
    model.register_buffer("turns", torch.zeros(2, dtype=torch.complex64))
    refused(["turns has elements of torch.complex64", "accepted are float64, float32", "bfloat16"], saved, model,
            torch.zeros(1, 4), folder)


@check
def refuses_a_folder_that_cannot_be_written(folder):
    (folder / "file").write_text("text")
    refused([f"the folder {folder / 'file'} cannot be written", "xists"], weft_trace.save, nn.Linear(4, 4),
            torch.zeros(1, 4), folder / "file", cause=OSError)
    refused(["cannot be written"], weft_trace.save, nn.Linear(4, 4), torch.zeros(1, 4), folder / "file" / "below")
    (folder / "model.safetensors").mkdir()
    refused(["cannot be written"], weft_trace.save, nn.Linear(4, 4), torch.zeros(1, 4), folder)
    expect(sorted(path.name for path in folder.iterdir()), ["file", "model.safetensors"])
