"""weft beside PyTorch: networks are saved for the command weft, and packages that it made are put into them.

    import weft
    weft.trace.save(model, example, "folder")     # what `weft model tune` and `weft model export` read
    weft.apply("package", model)                  # in place: layers run the kernels that `weft model export` wrote

PyTorch is imported where weft.trace and weft.load are used, not here.
"""
import importlib
import importlib.util
import json
import pathlib
import sys

__all__ = ["PackageError", "apply", "load"]


class PackageError(Exception):
    """Why a folder cannot be loaded as a package of a network."""


def load(folder):
    """The Python module of the package that `weft model export` wrote to the folder: apply, compare, check, layers,
    Error.

    It builds its library where that is not there yet, which takes cmake and a C compiler. It is the module that
    `import NAME` gives, NAME being the package's, and so is loaded once.
    """
    folder = pathlib.Path(folder).resolve()
    name = _name_of(folder)
    file = folder / name / "__init__.py"
    known = sys.modules.get(name)
    if known is not None:
        place = getattr(known, "__file__", None)
        if place is None or pathlib.Path(place).resolve() != file:
            raise PackageError(f"{folder} has a package {name}, and another module of this name is loaded, from "
                               f"{place or 'the interpreter'}: give it another one, weft model export --name NAME")
        return known
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=[str(file.parent)])
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def apply(folder, model, threads=1, example=None):
    """Puts the package's layers into the model, in place, and returns the model: load(folder).apply(model, threads,
    example). With an example, the model's inputs, only those that are faster on what it makes them see."""
    return load(folder).apply(model, threads, example)


def _name_of(folder):
    table = folder / "layers.json"
    try:
        name = json.loads(table.read_text(encoding="utf-8"))["name"]
        found = (folder / name / "__init__.py").is_file()
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise PackageError(f"{folder} is no package of a network, its layers.json cannot be read ({error}): "
                           "weft model export PATH -o FOLDER writes one") from error
    if not found:
        raise PackageError(f"{folder} has no file {name}/__init__.py: export it again, weft model export PATH -o FOLDER")
    return name


def __getattr__(name):
    if name == "trace":  # needs PyTorch
        return importlib.import_module("weft.trace")
    if name == "__version__":
        from importlib import metadata
        return metadata.version("weft")
    raise AttributeError(f"module 'weft' has no attribute '{name}'")
