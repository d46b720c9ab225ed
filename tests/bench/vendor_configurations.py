#!/usr/bin/env python3
"""The configurations that cuSPARSE's and cuSPARSELt's own heuristics choose, beside those that were measured.

After Castro, Andrade, Fraguela, STuning-DL (IEEE Access 2024), figures 12 to 14: the tiles of the kernel that a
library chooses for a problem stand in its name. The configuration of shfl_bw that is nearest to them is what the
library's heuristic would have chosen for us; how much of the oracle it reaches is judged by the times of a study.

    vendor_configurations.py measure study.jsonl vendor.jsonl SECONDS    on a GPU, with PyTorch
    vendor_configurations.py judge study.jsonl vendor.jsonl              anywhere

`measure` runs, for the problems of the study, cuSPARSELt on 2:4 weights (its choice, and each of its algorithms),
cuSPARSE Blocked-ELL with blocks of V, and cuSPARSE CSR (its choice, and each of its algorithms); times are those of
the kernels alone, as the profiler has them. `judge` prints one table.
"""
import ctypes
import json
import math
import re
import sys
import time


def problems_of(path):
    """{(M, K, N, V, density): {configuration: microseconds}} of a study."""
    problems = {}
    with open(path) as lines:
        for line in lines:
            record = json.loads(line)
            if record.get("status") != "correct":
                continue
            size, pattern = record["problem"], record["pattern"]
            m, k, n = size["M"], size["K"], size["N"]
            key = (m, k, n, pattern["V"], round(pattern["nnz"] / (m * k), 4), pattern["hash"])
            configuration = tuple(sorted(record["config"].items()))
            problems.setdefault(key, {})[configuration] = record["us"]["median"]
    return problems


class Cusparse:
    """As much of the library as two products need."""

    def __init__(self):
        with open("/proc/self/maps") as maps:
            paths = re.findall(r"\S*/libcusparse\.so\S*", maps.read())
        self.library = ctypes.CDLL(paths[0] if paths else "libcusparse.so.12")
        self.handle = ctypes.c_void_p()
        self.call("cusparseCreate", ctypes.byref(self.handle))
        self.one, self.zero = ctypes.c_float(1), ctypes.c_float(0)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise RuntimeError(f"{name}: status {status}")

    @staticmethod
    def address(tensor):
        return ctypes.c_void_p(tensor.data_ptr())

    def dense(self, tensor):
        matrix, half, row_major = ctypes.c_void_p(), 2, 2
        rows, columns = (ctypes.c_int64(size) for size in tensor.shape)
        self.call("cusparseCreateDnMat", ctypes.byref(matrix), rows, columns, columns, self.address(tensor), half,
                  row_major)
        return matrix

    def csr(self, shape, row_begin, columns, values):
        matrix, index, base, half = ctypes.c_void_p(), 2, 0, 2
        self.call("cusparseCreateCsr", ctypes.byref(matrix), ctypes.c_int64(shape[0]), ctypes.c_int64(shape[1]),
                  ctypes.c_int64(values.numel()), self.address(row_begin), self.address(columns),
                  self.address(values), index, index, base, half)
        return matrix

    def blocked_ell(self, shape, block, columns, values):
        matrix, index, base, half = ctypes.c_void_p(), 2, 0, 2
        self.call("cusparseCreateBlockedEll", ctypes.byref(matrix), ctypes.c_int64(shape[0]),
                  ctypes.c_int64(shape[1]), ctypes.c_int64(block), ctypes.c_int64(values.shape[1]),
                  self.address(columns), self.address(values), index, base, half)
        return matrix

    def product(self, torch, a, b, c, algorithm):
        """A function that starts the product."""
        plain, f32 = 0, 0
        shared = (self.handle, plain, plain, ctypes.byref(self.one), a, self.dense(b), ctypes.byref(self.zero),
                  self.dense(c), f32, algorithm)
        size = ctypes.c_size_t()
        self.call("cusparseSpMM_bufferSize", *shared, ctypes.byref(size))
        buffer = torch.empty(max(size.value, 16), dtype=torch.uint8, device="cuda")
        return lambda: (buffer, self.call("cusparseSpMM", *shared, self.address(buffer)))


def profiled(torch, runs, repeats=5):
    """{name: {"us": median, "kernels": [names]}} of functions that start kernels; those that fail are left out."""
    marker = torch.zeros(1, device="cuda", dtype=torch.int64)
    able = {}
    for name, run in runs.items():
        try:
            run()
            torch.cuda.synchronize()
            able[name] = run
        except Exception as error:
            if "out of memory" in str(error) or "illegal" in str(error):
                raise
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        for run in able.values():
            for _ in range(repeats):
                marker.add_(1)
                run()
        marker.add_(1)
        torch.cuda.synchronize()
    kernels = [event for event in profile.events() if str(event.device_type).endswith("CUDA")]
    kernels.sort(key=lambda event: event.time_range.start)
    calls, current = [], None
    for event in kernels:
        if "elementwise" in event.name:
            current = []
            calls.append(current)
        elif current is not None and not event.name.startswith("Mem"):
            current.append(event)
    result = {}
    for number, name in enumerate(able):
        own = [call for call in calls[number * repeats:(number + 1) * repeats] if call]
        if not own:
            continue
        spent = sorted(sum(event.time_range.elapsed_us() for event in call) for call in own)
        result[name] = {"us": spent[len(spent) // 2], "kernels": [event.name for event in own[-1]]}
    return result


def two_of_four(torch, m, k, b):
    weights = torch.randn(m, k, dtype=torch.float16, device="cuda")
    weights.view(m, k // 4, 4)[:, :, 2:] = 0
    compressed = torch._cslt_compress(weights)
    runs = {"cusparselt chosen": lambda: torch._cslt_sparse_mm(compressed, b)}
    for number in range(torch.backends.cusparselt.get_max_alg_id() or 0):
        runs[f"cusparselt {number}"] = lambda number=number: torch._cslt_sparse_mm(compressed, b, alg_id=number)
    return runs


def unstructured(torch, cusparse, m, k, kept, b, c):
    columns = torch.rand(m, k, device="cuda").topk(kept).indices.sort().values.to(torch.int32).contiguous()
    row_begin = torch.arange(0, m * kept + 1, kept, dtype=torch.int32, device="cuda")
    values = torch.randn(m * kept, dtype=torch.float16, device="cuda")
    csr = cusparse.csr((m, k), row_begin, columns, values)
    runs = {}
    for name, code in (("chosen", 0), ("1", 4), ("2", 6), ("3", 12)):
        runs[f"csr {name}"] = cusparse.product(torch, csr, b, c, code)
    runs["kept"] = lambda: (columns, row_begin, values)
    return runs


def in_blocks(torch, cusparse, m, k, block, blocks, b, c):
    columns = torch.rand(m // block, k // block, device="cuda").topk(blocks).indices
    columns = columns.sort().values.to(torch.int32).contiguous()
    values = torch.randn(m, blocks * block, dtype=torch.float16, device="cuda")
    ell = cusparse.blocked_ell((m, k), block, columns, values)
    return {"blocked ell": cusparse.product(torch, ell, b, c, 0), "kept": lambda: (columns, values)}


def measured(torch, cusparse, key, failures):
    """What each library can do for a problem; a library that cannot is counted and left out."""
    m, k, n, group, density, _ = key
    b = torch.randn(k, n, dtype=torch.float16, device="cuda")
    c = torch.empty(m, n, dtype=torch.float16, device="cuda")
    kept = max(1, round(density * k))
    times = {}
    for make in (lambda: two_of_four(torch, m, k, b), lambda: unstructured(torch, cusparse, m, k, kept, b, c),
                 lambda: in_blocks(torch, cusparse, m, k, group, max(1, round(density * k / group)), b, c)):
        try:
            runs = make()
            alive = runs.pop("kept", None)
            times.update(profiled(torch, runs))
            del alive
        except Exception as error:
            text = f"{type(error).__name__}: {error}"[:160]
            failures[text] = failures.get(text, 0) + 1
    return times


def measure(study, output, seconds):
    import torch
    end = time.time() + seconds
    cusparse = Cusparse()
    print(torch.cuda.get_device_name(), "torch", torch.__version__, "cuSPARSELt",
          torch.backends.cusparselt.version(), file=sys.stderr)
    done, failures = 0, {}
    with open(output, "w") as out:
        for key in problems_of(study):
            if time.time() > end:
                break
            m, k, n, group, density, _ = key
            if m % group or k % group:
                continue
            times = measured(torch, cusparse, key, failures)
            out.write(json.dumps({"M": m, "K": k, "N": n, "V": group, "density": density, "times": times}) + "\n")
            out.flush()
            done += 1
    print(f"{done} problems")
    for text, count in failures.items():
        print(f"{count} times: {text}")


def tiles_of(kernel):
    """Rows, columns, places and stages of a kernel's tile, where its name says so."""
    found = re.search(r"tilesize(\d+)x(\d+)x(\d+)(?:_stage(\d+))?", kernel)
    if found is None:
        found = re.search(r"GemmShapeILi(\d+)ELi(\d+)ELi(\d+)E", kernel)
    if found is None:
        found = re.search(r"(\d{2,3})x(\d{2,3})(?:x(\d{2,3})|_(\d{2,3})x(\d))", kernel)
    if found is None:
        return None
    numbers = [int(number) for number in found.groups() if number]
    return tuple(numbers + [0] * (4 - len(numbers)))[:4]


def nearest(tiles, configurations):
    """The configuration whose tile is nearest, in ratio; of equally near ones the one with fewest other peculiarities:
    no shared sums, each tile with a block of its own."""
    def distance(configuration):
        knobs = dict(configuration)
        far = 0.0
        for wanted, name in zip(tiles, ("tile_m", "tile_n", "tile_k", "stages")):
            if wanted > 0:
                far += abs(math.log2(wanted / knobs[name]))
        return far, knobs["groups"], knobs["blocks"], knobs["producers"], configuration
    return min(configurations, key=distance)


def summary(fractions):
    if not fractions:
        return "none"
    ordered = sorted(fractions)
    return (f"{len(ordered)} problems, mean {sum(ordered) / len(ordered):.3f}, median {ordered[len(ordered) // 2]:.3f},"
            f" worst {ordered[0]:.3f}")


def judge(study, vendor):
    measured = {}
    for key, times in problems_of(study).items():
        measured[key[:5]] = times
    own = {"cusparselt": [], "csr": []}
    ours = {"cusparselt chosen": [], "blocked ell": []}
    unnamed = {}
    with open(vendor) as lines:
        for line in lines:
            one = json.loads(line)
            times = one["times"]
            for library, list_of in own.items():
                mine = [run["us"] for name, run in times.items() if name.startswith(library)]
                if f"{library} chosen" in times:
                    list_of.append(min(mine) / times[f"{library} chosen"]["us"])
            table = measured[(one["M"], one["K"], one["N"], one["V"], one["density"])]
            for name, list_of in ours.items():
                for kernel in times.get(name, {}).get("kernels", [])[:1]:
                    tiles = tiles_of(kernel)
                    if tiles is None:
                        unnamed[kernel] = unnamed.get(kernel, 0) + 1
                    else:
                        list_of.append(min(table.values()) / table[nearest(tiles, table)])
    print("share of the best that a library's own choice reaches among its own algorithms")
    for library, fractions in own.items():
        print(f"  {library:<20}{summary(fractions)}")
    print("share of the oracle of shfl_bw that the configuration nearest to the library's choice reaches")
    for name, fractions in ours.items():
        print(f"  {name:<20}{summary(fractions)}")
    for kernel, count in sorted(unnamed.items(), key=lambda pair: -pair[1])[:5]:
        print(f"  no tile in the name ({count} times): {kernel[:120]}")


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "measure":
        measure(sys.argv[2], sys.argv[3], float(sys.argv[4]))
    elif len(sys.argv) == 4 and sys.argv[1] == "judge":
        judge(sys.argv[2], sys.argv[3])
    else:
        sys.exit(__doc__)
