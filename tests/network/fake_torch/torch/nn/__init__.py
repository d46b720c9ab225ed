import torch


class Parameter(torch.Tensor):
    def __init__(self, data, requires_grad=True):
        super().__init__(data.memory, data.shape, data.dtype, data.strides, data.device.type)


class _Hook:
    def __init__(self, hooks, seen):
        self.hooks, self.seen = hooks, seen
        hooks.append(self)

    def remove(self):
        self.hooks.remove(self)


class Module:
    def __init__(self):
        self.__dict__.update(_parameters={}, _buffers={}, _modules={}, _forward_hooks=[], _forward_pre_hooks=[],
                             training=True)

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._modules[name] = value
        elif name in self._parameters and value is None:
            self._parameters[name] = None
        else:
            self.__dict__[name] = value

    def __getattr__(self, name):
        for kind in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[kind]:
                return self.__dict__[kind][name]
        raise AttributeError(name)

    def __call__(self, *inputs, **named):
        for hook in list(self._forward_pre_hooks):
            hook.seen(self, inputs)
        output = self.forward(*inputs, **named)
        for hook in list(self._forward_hooks):
            hook.seen(self, inputs, named, output)
        return output

    def register_buffer(self, name, value):
        self._buffers[name] = value

    def register_forward_hook(self, seen, with_kwargs):
        assert with_kwargs
        return _Hook(self._forward_hooks, seen)

    def register_forward_pre_hook(self, seen):
        return _Hook(self._forward_pre_hooks, seen)

    def named_modules(self, memo=None, prefix=""):
        memo = set() if memo is None else memo
        if self not in memo:
            memo.add(self)
            yield prefix, self
            for name, child in self._modules.items():
                yield from child.named_modules(memo, f"{prefix}.{name}" if prefix else name)

    def modules(self):
        return (module for _, module in self.named_modules())

    def _named(self, kind):
        for prefix, module in self.named_modules():
            for name, value in module.__dict__[kind].items():
                if value is not None:
                    yield f"{prefix}.{name}" if prefix else name, value

    def named_parameters(self):
        return self._named("_parameters")

    def named_buffers(self):
        return self._named("_buffers")

    def state_dict(self, prefix="", keep_vars=False):
        assert keep_vars
        state = {prefix + name: value for kind in (self._parameters, self._buffers)
                 for name, value in kind.items() if value is not None}
        for name, child in self._modules.items():
            state.update(child.state_dict(f"{prefix}{name}.", keep_vars))
        return state


class Sequential(Module):
    def __init__(self, *children):
        super().__init__()
        for i, child in enumerate(children):
            self._modules[str(i)] = child

    def __getitem__(self, i):
        return self._modules[str(i)]

    def forward(self, given):
        for child in self._modules.values():
            given = child(given)
        return given


class ModuleDict(Module):
    pass


class _Same(Module):
    def forward(self, given):
        return given


class Identity(_Same):
    pass


class ReLU(_Same):
    pass


class ReLU6(_Same):
    pass


class Tanh(_Same):
    pass


class Sigmoid(_Same):
    pass


class SiLU(_Same):
    pass


class GELU(_Same):
    def __init__(self, approximate="none"):
        super().__init__()
        self.approximate = approximate


class _Weighted(Module):
    def __init__(self, shape, bias, device, dtype):
        super().__init__()
        self.weight = Parameter(torch.zeros(*shape, dtype=dtype, device=device))
        self.bias = Parameter(torch.zeros(shape[0], dtype=dtype, device=device)) if bias else None


class Linear(_Weighted):
    def __init__(self, in_features, out_features, bias=True, device="cpu", dtype=torch.float32):
        super().__init__((out_features, in_features), bias, device, dtype)

    def forward(self, input):
        if input.shape[-1] != self.weight.shape[1]:
            raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
        return torch.zeros(*input.shape[:-1], self.weight.shape[0])


class LayerNorm(_Same):
    def __init__(self, size):
        super().__init__()
        self.weight = Parameter(torch.zeros(size))


class Embedding(Module):
    def __init__(self, rows, columns):
        super().__init__()
        self.weight = Parameter(torch.zeros(rows, columns))

    def forward(self, given):
        return torch.zeros(*given.shape, self.weight.shape[1])


def _pair(value):
    return (value, value) if isinstance(value, int) else value


class Conv1d(_Weighted):
    def __init__(self, channels, filters, size):
        super().__init__((filters, channels, size), True, "cpu", torch.float32)

    def forward(self, input):
        return torch.zeros(input.shape[0], self.weight.shape[0], input.shape[2] - self.weight.shape[2] + 1)


class Conv2d(_Weighted):
    def __init__(self, channels, filters, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True,
                 padding_mode="zeros"):
        super().__init__((filters, channels // groups, *_pair(kernel_size)), bias, "cpu", torch.float32)
        self.kernel_size, self.stride, self.dilation = map(_pair, (kernel_size, stride, dilation))
        self.padding, self.groups, self.padding_mode = _pair(padding), groups, padding_mode

    def forward(self, input):
        image = []
        for i, (k, s, d) in enumerate(zip(self.kernel_size, self.stride, self.dilation)):
            both = {"same": d * (k - 1), "valid": 0}.get(self.padding) if isinstance(self.padding, str) \
                else 2 * self.padding[i]
            image.append((input.shape[i - 2] + both - d * (k - 1) - 1) // s + 1)
        output = torch.zeros(*input.shape[:-3], self.weight.shape[0], *image)
        last = input.dim() == 4 and input.is_contiguous(memory_format=torch.channels_last)
        return output.contiguous(torch.channels_last) if last and not input.is_contiguous() else output


from . import utils  # noqa: E402
