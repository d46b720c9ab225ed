"""The layer as an operator of PyTorch: eager, compiled, and in a CUDA graph.

    cmake -S ffn/torch -B build-torch && cmake --build build-torch
    PYTHONPATH=build-torch python use.py
"""

import torch

import ffn

device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.randn(512, 33, device=device)
bias = torch.randn(256, device=device)

with torch.no_grad():
    # The weights as a matrix: what the reference makes of unit vectors, relu(W) - relu(-W) by two signs.
    unit = torch.eye(512)
    zero = torch.zeros(256)
    weights = (ffn.ffn(unit, zero) - ffn.ffn(-unit, zero)).to(device)
    expected = torch.relu(torch.mm(weights, x) + bias[:, None])

    eager = ffn.ffn(x, bias)
    compiled = torch.compile(lambda a, b: ffn.ffn(a, b) + 1.0)(x, bias) - 1.0
    torch.testing.assert_close(eager, expected, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(compiled, expected, rtol=1e-4, atol=1e-4)

    if device == "cuda":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            captured = ffn.ffn(x, bias)
        x.mul_(2.0)
        graph.replay()
        torch.testing.assert_close(captured, torch.relu(torch.mm(weights, x) + bias[:, None]), rtol=1e-4, atol=1e-4)

print("eager, compiled and captured agree with torch.mm on", device)
