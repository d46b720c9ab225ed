"""What needs PyTorch itself."""
import ctypes
import warnings

import torch
import weft_trace
from torch import nn
from torch.nn.utils import prune
from trace_support import check, expect, layers_of, refused, saved


@check
def the_package_reads_what_was_written(folder):
    try:
        from safetensors.torch import load_file
    except ImportError:
        return "left out: no package safetensors"
    model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 5))
    model.register_buffer("narrow", torch.randn(7).half())
    model.register_buffer("brain", torch.randn(3, 3).bfloat16())
    model.register_buffer("counts", torch.arange(3))
    weft_trace.save(model, torch.randn(1, 2, 4, 4), folder)
    found = load_file(folder / "model.safetensors")
    expect(set(found), set(model.state_dict()))
    for name, tensor in model.state_dict().items():
        expect(torch.equal(found[name], tensor), True, name)
    return None


@check
def the_model_gives_the_same_from_what_was_written(folder):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 3))
    prune.l1_unstructured(model[0], "weight", amount=0.5)
    prune.random_unstructured(model[0], "weight", amount=0.2)
    given = torch.randn(4, 6)
    network, tensors = saved(model, given, folder)
    expect(network["layers"][0]["activation"], "silu")
    state = {name: torch.frombuffer(bytearray(data), dtype=torch.float32).reshape(shape)
             for name, (_, shape, data) in tensors.items()}
    again = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.Linear(8, 3))
    again.load_state_dict(state)
    expect(torch.equal(again(given), model(given)), True, "the same output")
    expect(int((state["0.weight"] == 0).sum()) >= 24, True, "zeros")


@check
def parametrized_weights_are_written_as_they_act(folder):
    from torch.nn.utils import parametrizations
    model = nn.Sequential(parametrizations.weight_norm(nn.Linear(4, 3)),
                          parametrizations.spectral_norm(nn.Linear(3, 3)))
    network, tensors = saved(model, torch.randn(2, 4), folder)
    expect(set(tensors), {f"{i}.{name}" for i in (0, 1) for name in ("weight", "bias")})
    expect(network["left_out"], [])
    found = torch.frombuffer(bytearray(tensors["0.weight"][2]), dtype=torch.float32).reshape(3, 4)
    expect(torch.equal(found, model[0].weight.detach()), True)


@check
def weights_made_before_each_run(folder):
    if not hasattr(torch.nn.utils, "weight_norm"):
        return "left out: no such weight_norm"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = nn.Sequential(torch.nn.utils.weight_norm(nn.Linear(4, 3)))
    network, tensors = saved(model, torch.randn(2, 4), folder)
    expect(network["layers"][0]["weight"], "0.weight")
    expect(tensors["0.weight"][1], [3, 4])
    return None


@check
def layers_of_a_transformer_block(folder):
    block = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    model = nn.TransformerEncoder(block, 2)
    layers = layers_of(model, torch.randn(2, 5, 16), folder)
    expect({name: one["n"] for name, one in layers.items()},
           {f"layers.{i}.linear{j}": 10 for i in (0, 1) for j in (1, 2)})
    network, _ = saved(model, torch.randn(2, 5, 16), folder)
    expect(sorted(one["name"] for one in network["left_out"]),
           sorted(f"layers.{i}.self_attn.{name}" for i in (0, 1) for name in ("in_proj_weight", "out_proj")))
    expect(torch.backends.mha.get_fastpath_enabled(), True)


@check
def compiled_models(folder):
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    compiled = torch.compile(model, backend="eager")
    compiled(torch.zeros(3, 4))
    expect(layers_of(compiled, torch.zeros(3, 4), folder)["0"],
           {"name": "0", "op": "linear", "weight": "0.weight", "bias": "0.bias", "n": 3, "activation": "relu",
            "calls": 1})
    outer = nn.Sequential(compiled, nn.Linear(4, 2))
    expect(sorted(layers_of(outer, torch.zeros(3, 4), folder)), ["0._orig_mod.0", "1"])


@check
def lazy_layers(folder):
    expect(layers_of(nn.Sequential(nn.LazyLinear(3)), torch.zeros(2, 4), folder)["0"]["n"], 2)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.unused = nn.Linear(4, 4), nn.LazyLinear(4)

        def forward(self, given):
            return self.used(given)

    refused(["unused.weight", "Uninitialized"], saved, Model(), torch.zeros(1, 4), folder)


@check
def runs_on_nothing_do_not_count(folder):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.used, self.empty = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, given):
            self.empty(given[:0])
            return self.used(given)

    network, _ = saved(Model(), torch.zeros(2, 4), folder)
    expect([one["name"] for one in network["layers"]], ["used"])
    expect([one["name"] for one in network["left_out"]], ["empty"])


@check
def one_channel_takes_the_layout_of_the_output(folder):
    model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.Conv2d(8, 8, 3)).to(memory_format=torch.channels_last)
    example = torch.zeros(2, 1, 8, 8).to(memory_format=torch.channels_last)
    output = model[0](example)
    last = output.is_contiguous(memory_format=torch.channels_last) and not output.is_contiguous()
    layers = layers_of(model, example, folder)
    expect([one["layout"] for one in layers.values()], ["nhwc" if last else "nchw"] * 2)


@check
def refuses_packed_and_sparse_weights(folder):
    model = nn.Sequential(nn.Linear(4, 4))
    model.register_buffer("sparse", torch.eye(4).to_sparse_csr())
    refused(["sparse is a Tensor of torch.sparse_csr", "plain dense tensor"], saved, model, torch.zeros(1, 4), folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            packed = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)), {nn.Linear})
            packed(torch.zeros(1, 4))
    except Exception as error:
        return f"left out: no quantised layers here ({type(error).__name__})"
    refused(["0._packed_params._packed_params holds packed weights"], saved, packed, torch.zeros(1, 4), folder)
    return None


@check
def weights_of_other_types_are_left_out(folder):
    class Own(nn.Linear):
        def forward(self, given):
            return nn.functional.linear(given, self.weight.to(given.dtype))

    layer = Own(4, 4, bias=False)
    layer.weight = nn.Parameter(torch.ones(4, 4, dtype=torch.int8), requires_grad=False)
    network, _ = saved(nn.Sequential(layer, nn.Linear(4, 2)), torch.zeros(1, 4), folder)
    expect([one["name"] for one in network["layers"]], ["1"])
    expect(network["left_out"][0]["why"],
           "its weights are of torch.int8: only floating-point weights of 16 bits and more are taken")


@check
def models_on_a_gpu(folder):
    if not torch.cuda.is_available():
        return "left out: no GPU"
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU()).cuda().half()
    tensors = saved(model, torch.zeros(5, 64, device="cuda", dtype=torch.half), folder)[1]
    weight = model[0].weight.detach().cpu()
    expect(tensors["0.weight"][2], ctypes.string_at(weight.data_ptr(), weight.nbytes))
    return None
