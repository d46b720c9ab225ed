"""As much of PyTorch as weft_trace.py and its test use: tensors with memory, modules with hooks. Layers give zeros of
the right shape and compute nothing."""
import contextlib
import ctypes
import itertools
import math
import struct

strided, contiguous_format, channels_last = "torch.strided", "torch.contiguous_format", "torch.channels_last"
no_grad = contextlib.nullcontext


class dtype:
    def __init__(self, name, code, size):
        self.name, self.code, self.itemsize = name, code, size

    def __repr__(self):
        return f"torch.{self.name}"


class device:
    def __init__(self, type):
        self.type = type

    def __repr__(self):
        return self.type


float64, float32, float16 = dtype("float64", "d", 8), dtype("float32", "f", 4), dtype("float16", "e", 2)
bfloat16, complex64 = dtype("bfloat16", None, 2), dtype("complex64", None, 8)
int64, int32, int16, int8 = (dtype(f"int{8 * n}", code, n) for n, code in ((8, "q"), (4, "i"), (2, "h"), (1, "b")))
uint8, bool = dtype("uint8", "B", 1), dtype("bool", "?", 1)


def _packed_strides(shape):
    strides = [1]
    for extent in reversed(shape[1:]):
        strides.append(strides[-1] * extent)
    return tuple(reversed(strides)) if shape else ()


class Tensor:
    layout = strided

    def __init__(self, memory, shape, dtype, strides=None, device_type="cpu"):
        self.memory, self.shape, self.dtype, self.device = memory, tuple(shape), dtype, device(device_type)
        self.strides = strides or _packed_strides(self.shape)

    def numel(self):
        return math.prod(self.shape)

    def dim(self):
        return len(self.shape)

    def stride(self):
        return self.strides

    def element_size(self):
        return self.dtype.itemsize

    @property
    def nbytes(self):
        return self.numel() * self.element_size()

    def data_ptr(self):
        return ctypes.addressof(self.memory) if self.memory is not None else 0

    def detach(self):
        return self

    def cpu(self):
        return self

    def reshape(self, *shape):
        return Tensor(self.contiguous().memory, shape[0] if isinstance(shape[0], (tuple, list)) else shape, self.dtype)

    def t(self):
        return Tensor(self.memory, self.shape[::-1], self.dtype, self.strides[::-1])

    def _order(self, memory_format):
        """The strides of a memory format."""
        if memory_format != channels_last:
            return _packed_strides(self.shape)
        n, c, h, w = _packed_strides([self.shape[i] for i in (0, 2, 3, 1)])
        return n, w, c, h

    def is_contiguous(self, memory_format=contiguous_format):
        pairs = zip(self.shape, self.strides, self._order(memory_format))
        return all(extent == 1 or mine == packed for extent, mine, packed in pairs)

    def contiguous(self, memory_format=contiguous_format):
        if self.is_contiguous(memory_format):
            return self
        strides, size = self._order(memory_format), self.dtype.itemsize
        memory = (ctypes.c_char * self.nbytes)()
        for place in itertools.product(*map(range, self.shape)):
            begin = sum(i * s for i, s in zip(place, self.strides)) * size
            to = sum(i * s for i, s in zip(place, strides)) * size
            memory[to:to + size] = self.memory[begin:begin + size]
        return Tensor(memory, self.shape, self.dtype, strides)

    def _values(self):
        raw = bytes(self.contiguous().memory)
        if self.dtype is bfloat16:
            return [struct.unpack("<f", b"\0\0" + raw[i:i + 2])[0] for i in range(0, len(raw), 2)]
        return list(struct.unpack(f"<{self.numel()}{self.dtype.code}", raw))

    def to(self, dtype):
        return self if dtype is self.dtype else tensor(self._values(), dtype=dtype).reshape(self.shape)

    def __mul__(self, other):
        products = [a * b for a, b in zip(self._values(), other._values(), strict=True)]
        return tensor(products, dtype=self.dtype).reshape(self.shape)


def tensor(values, dtype=float32):
    if dtype is bfloat16:
        raw = b"".join(struct.pack("<f", value)[2:] for value in values)
    else:
        raw = struct.pack(f"<{len(values)}{dtype.code}", *values)
    return Tensor((ctypes.c_char * len(raw)).from_buffer_copy(raw), (len(values),), dtype)


def zeros(*shape, dtype=float32, device="cpu"):
    memory = None if device == "meta" else (ctypes.c_char * (math.prod(shape) * dtype.itemsize))()
    return Tensor(memory, shape, dtype, device_type=device)


from . import nn  # noqa: E402: it needs the tensors
