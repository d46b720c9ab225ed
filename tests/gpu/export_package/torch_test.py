"""The PyTorch operators of exported packages against torch.mm: eager, compiled, in a CUDA graph, and what they refuse.
On a machine without a GPU the operators run their references, and there is no graph."""

import torch

import baked
import grouped
import plain
import split

device = "cuda" if torch.cuda.is_available() else "cpu"
sizes = [1, 2, 7, 31, 33, 49, 63, 65, 127, 129, 196, 512]
count = 0


def check(found, expected, tolerance):
    global count
    torch.testing.assert_close(found.float(), expected.float(), rtol=tolerance, atol=tolerance)
    count += 1


def weights_of(call, columns, dtype):
    """What the reference on the processor makes of unit vectors."""
    return call(torch.eye(columns, dtype=dtype)).to(device)


def products(call, columns, dtype, tolerance):
    weights = weights_of(call, columns, dtype)
    compiled = torch.compile(lambda x: call(x * 2.0) + 1.0, fullgraph=True, dynamic=False)
    for n in sizes:
        x = torch.randn(columns, n, device=device, dtype=dtype)
        expected = torch.mm(weights.float(), x.float())
        check(call(x), expected, tolerance)
        check(call(x.t().contiguous().t()), expected, tolerance)
        if n in (33, 64, 512):
            check(compiled(x), torch.mm(weights.float(), x.float() * 2.0) + 1.0, tolerance)
    if device == "cpu":
        return
    x = torch.randn(columns, 64, device=device, dtype=dtype)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = call(x)
    for seed in range(3):
        torch.manual_seed(seed)
        x.copy_(torch.randn_like(x))
        graph.replay()
        check(captured, torch.mm(weights.float(), x.float()), tolerance)


def fills_of(run):
    """How often memory is filled on the device."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    names = [one.name for one in profile.events() if one.device_type == torch.autograd.DeviceType.CUDA]
    assert names, "the profiler saw nothing"
    return sum("memset" in name.lower() for name in names)


def captured(call, x):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = call(x)
    return graph, y


def counted(call, shape):
    """A layer whose blocks count each other, in graphs and streams at once; after the first call nothing is filled."""
    inputs = [torch.randn(shape, device=device) for _ in range(3)]
    expected = [call(x.cpu()).to(device) for x in inputs]
    for _ in range(2):
        for x, y in zip(inputs, expected):
            check(call(x), y, 1e-4)
    if device == "cpu":
        return
    # Both are captured in PyTorch's one stream for that.
    graphs, streams = [captured(call, x) for x in inputs[:2]], [torch.cuda.Stream() for _ in range(3)]
    torch.cuda.synchronize()
    for _ in range(50):
        for stream, (graph, _) in zip(streams, graphs):
            with torch.cuda.stream(stream):
                graph.replay()
        with torch.cuda.stream(streams[2]):
            eager = call(inputs[2])
    torch.cuda.synchronize()
    for y, found in zip(expected, [y for _, y in graphs] + [eager]):
        check(found, y, 1e-4)
    fills = fills_of(lambda: [graphs[0][0].replay(), call(inputs[2])])
    assert fills == 0, f"{fills} fills in front of kernels"
    again = torch.compile(lambda x: call(x) + 1.0, fullgraph=True, mode="reduce-overhead")
    for _ in range(4):
        check(again(inputs[0]), expected[0] + 1.0, 1e-4)


with torch.no_grad():
    counted(split.split, (37, 33))
    products(baked.baked, 64, torch.float32, 1e-4)
    products(grouped.grouped, 128, torch.float16, 3e-2)
    # plain: relu(alpha W x + bias + beta c)
    zero, none = torch.zeros(40), torch.zeros(40, 64)
    unit = torch.eye(64)
    weights = (plain.plain(unit, zero, none, 1.0, 0.0) - plain.plain(-unit, zero, none, 1.0, 0.0)).to(device)
    for n in sizes:
        x, bias, old = (torch.randn(*s, device=device) for s in ((64, n), (40,), (40, n)))
        kept = old.clone()
        expected = torch.relu(0.5 * torch.mm(weights, x) + bias[:, None] + 2.0 * old)
        check(plain.plain(x, bias, old, 0.5, 2.0), expected, 1e-4)
        check(old, kept, 0.0)

x = torch.randn(64, 8, device=device, requires_grad=True)
try:
    baked.baked(x).sum().backward()
    raise SystemExit("FAILED: a gradient was computed")
except RuntimeError as error:
    assert "for inference" in str(error), error
for bad in (torch.randn(63, 8, device=device), torch.randn(64, 8, device=device, dtype=torch.float16),
            torch.randn(64, 513, device=device)):
    try:
        baked.baked(bad)
        raise SystemExit("FAILED: a wrong input was taken")
    except RuntimeError as error:
        assert "baked" in str(error), error
print(f"torch {torch.__version__}: {count} results agree with torch.mm, eager, compiled and captured, on {device}")
