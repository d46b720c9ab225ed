"""Which weights stay, as `weft prune` chooses them, and whether a mask has the pattern that was asked for.

A pattern is a format of weft: csr, shfl_bw:V=16, vector_wise:V=16, bcsr:b=16, n_m, v_n_m:V=16,M=20.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
import weft_trace  # noqa: E402: found beside this checkout

DTYPES = {"F32": torch.float32, "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2, "I8": torch.int8}
# A weight that is zero already, so that a kept place is told from one that is not.
NOTHING = 1e-30


def written(path, tensors):
    weft_trace._write_file(str(path), {name: (tensor, None) for name, tensor in tensors.items()})


def read(path):
    """The tensors of a file, and its metadata."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        data = bytearray(content[8 + length + begin:8 + length + end])
        tensors[name] = torch.frombuffer(data, dtype=DTYPES[entry["dtype"]]).view(entry["shape"])
    return tensors, metadata


def own_sparsity(pattern):
    """That of a pattern which takes no other; None for those that take any."""
    if pattern == "n_m":
        return 0.5
    found = re.fullmatch(r"v_n_m:V=\d+,M=(\d+)", pattern)
    return 1 - 2 / int(found.group(1)) if found else None


def run(weft, weights, pattern, sparsity, words=()):
    """What `weft prune --all` says, and what it writes: tensors and metadata."""
    with tempfile.TemporaryDirectory(prefix="weft_accuracy_") as folder:
        dense, pruned = pathlib.Path(folder) / "dense.safetensors", pathlib.Path(folder) / "pruned.safetensors"
        written(dense, weights)
        command = [weft, "prune", dense, "--all", "--format", pattern, "--json", "-o", pruned, *words]
        if own_sparsity(pattern) is None:
            command += ["--sparsity", str(sparsity)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
        return json.loads(done.stdout), *read(pruned)


class Chosen:
    """Masks of the weights by name, the share of |w| that they keep, and the row orders of shfl_bw."""

    def __init__(self, weft, weights, pattern, sparsity):
        weights = {name: weight.detach().cpu() for name, weight in weights.items()}
        full = {name: torch.where(weight == 0, NOTHING, weight) for name, weight in weights.items()}
        said, pruned, metadata = run(weft, full, pattern, sparsity)
        self.pattern = pattern
        self.masks = {name: (pruned[name] != 0).float() for name in weights}
        self.kept_scores = {tensor["tensor"]: tensor["kept_score"] for tensor in said["tensors"]}
        self.row_orders = {name: torch.tensor(json.loads("[" + metadata[f"weft.row_order.{name}"] + "]"))
                           for name in weights if f"weft.row_order.{name}" in metadata}

    def kept_score(self):
        return sum(self.kept_scores.values()) / len(self.kept_scores)

    def zeros(self):
        places = sum(mask.numel() for mask in self.masks.values())
        return 1 - sum(mask.sum().item() for mask in self.masks.values()) / places

    def faults(self):
        """Names of the masks without the pattern."""
        return [name for name, mask in self.masks.items()
                if not has_pattern(mask.flatten(1), self.pattern, self.row_orders.get(name))]


def blocks_of(mask, rows, columns):
    """[blocks down, rows, blocks across, columns] with nothing kept beyond the edges."""
    down, across = -mask.shape[0] % rows, -mask.shape[1] % columns
    padded = torch.nn.functional.pad(mask, (0, across, 0, down))
    return padded.unflatten(0, (-1, rows)).unflatten(2, (-1, columns))


def all_or_none(mask, rows, columns):
    """Whether every block is kept whole, as far as it lies in the matrix, or not at all."""
    kept = blocks_of(mask, rows, columns).sum((1, 3))
    there = blocks_of(torch.ones_like(mask), rows, columns).sum((1, 3))
    return bool(((kept == 0) | (kept == there)).all())


def has_pattern(mask, pattern, row_order=None):
    name, _, parameters = pattern.partition(":")
    numbers = {word[0]: int(word[2:]) for word in parameters.split(",") if word}
    if name == "csr":
        return True
    if name == "vector_wise":
        return all_or_none(mask, numbers["V"], 1)
    if name == "shfl_bw":
        return sorted(row_order.tolist()) == list(range(len(mask))) and all_or_none(mask[row_order], numbers["V"], 1)
    if name == "bcsr":
        return all_or_none(mask, numbers["b"], numbers["b"])
    if name == "n_m":
        return bool((blocks_of(mask, 1, 4).sum((1, 3)) <= 2).all())
    if name == "v_n_m":
        blocks = blocks_of(mask, numbers["V"], numbers["M"])
        columns_used = (blocks.sum(1) > 0).sum(-1)
        return bool((columns_used <= 4).all() and (blocks.sum(3) <= 2).all())
    raise ValueError(f"of {pattern} no check is known")


def quantized(weft, weights, how):
    """The weights, zeros and all, as values of a byte times the scale of their row."""
    _, tensors, _ = run(weft, {name: weight.detach().cpu() for name, weight in weights.items()}, "csr", 0,
                        ["--quantize", how])
    found = {}
    for name in weights:
        scale = tensors[name + "_scale"]
        found[name] = tensors[name].float() * scale.view(-1, *[1] * (tensors[name].dim() - 1))
    return found
