"""Y = W X by a Triton kernel, on memory that weft lends: a contestant of `weft bench --contestant`.

python_contestant.c asks this module for `name` and, where they are there, `version` and `arithmetic`, and calls:

    takes(problem)               a dictionary of wishes, or a sentence that says why not
    prepare(problem, operands)   a function launch(stream); nothing of this is timed

It needs PyTorch and Triton. Launches are recorded as a CUDA graph, so launch() must not wait, allocate or compile.
With TRITON_INTERPRET=1 in the environment Triton interprets the kernel on the processor: its results are checked
without a GPU, and its times say nothing.
"""

import ctypes
import os
import sys

import torch

# Triton's library has an LLVM in it, and the command weft may have another one: each calls its own.
flags = sys.getdlopenflags()
sys.setdlopenflags(flags | os.RTLD_DEEPBIND)
import triton
import triton.language as tl

sys.setdlopenflags(flags)

name = "triton rows"
version = f"triton {triton.__version__}, torch {torch.__version__}"

TYPES = {"f32": (torch.float32, "<i4"), "f16": (torch.float16, "<i2"), "bf16": (torch.bfloat16, "<i2")}
TILE = 128
INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"


@triton.jit
def row_of_product(row_begin, column, values, x, y, columns, TILE: tl.constexpr):
    """A program computes TILE columns of one row: a sum over the entries of the row."""
    m = tl.program_id(0).to(tl.int64)
    n = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = n < columns
    total = tl.zeros((TILE,), dtype=tl.float32)
    for i in range(tl.load(row_begin + m), tl.load(row_begin + m + 1)):
        k = tl.load(column + i).to(tl.int64)
        row_of_x = tl.load(x + k * columns + n, mask=inside, other=0.0)
        total += tl.load(values + i).to(tl.float32) * row_of_x.to(tl.float32)
    tl.store(y + m * columns + n, total.to(y.dtype.element_ty), mask=inside)


class Lent:
    """Memory of somebody else, as PyTorch takes it without a copy; integers, because it knows no bf16 there."""

    def __init__(self, address, count, integers):
        self.__cuda_array_interface__ = {
            "shape": (count,), "typestr": integers, "data": (address, False), "version": 3}


def takes(problem):
    if (problem["device"] < 0) != INTERPRETED:
        return "Triton is for CUDA devices, and on processors interpreted, with TRITON_INTERPRET=1"
    if problem["convolution"] is not None or problem["after_sum"]:
        return "it computes products, no convolutions, and nothing follows its sum"
    if problem["element"] not in TYPES or problem["result"] != problem["element"]:
        return "it is for elements of f32, f16 and bf16"
    return {}


def prepare(problem, operands):
    device = torch.device("cpu") if INTERPRETED else torch.device("cuda", problem["device"])
    dtype, integers = TYPES[problem["element"]]
    rows, inner, columns = problem["rows"], problem["inner"], problem["columns"]

    def uploaded(view, of):
        # A copy of its own: the weights are lent until prepare() returns.
        return torch.frombuffer(bytearray(view) or bytearray(8), dtype=of).to(device)

    def lent(address, count):
        if INTERPRETED:
            return torch.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(address), dtype=dtype)
        return torch.as_tensor(Lent(address, count, integers), device=device).view(dtype)

    row_begin = uploaded(operands["row_begin"], torch.int64)
    column = uploaded(operands["column"], torch.int32)
    values = uploaded(operands["values"], dtype)
    x, y = lent(operands["x"], inner * columns), lent(operands["y"], rows * columns)
    grid = (rows, triton.cdiv(columns, TILE))

    def multiply():
        row_of_product[grid](row_begin, column, values, x, y, columns, TILE=TILE)

    def launch(stream):
        with torch.cuda.device(device), torch.cuda.stream(torch.cuda.ExternalStream(stream, device=device)):
            multiply()

    if INTERPRETED:
        return lambda stream: multiply()
    with torch.cuda.device(device):
        multiply()  # compiles it
        torch.cuda.synchronize()
    return launch
