from torch.nn import Parameter


def custom_from_mask(module, name, mask):
    original = module._parameters.pop(name)
    module._parameters[name + "_orig"] = Parameter(original)
    module.register_buffer(name + "_mask", mask)
    module.__dict__[name] = original * mask
    return module
