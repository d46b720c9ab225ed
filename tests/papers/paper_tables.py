"""Tables of the pages in docs/papers: each function makes one, named after its page and its region, from docs/data."""
import collections
import functools
import itertools
import json
import lzma
import math
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "bench"))
import vendor_configurations  # noqa: E402

WEFT = "weft"  # the command
SIMULATOR = True  # which it may have been built without
DATA = pathlib.Path(__file__).resolve().parents[2] / "docs" / "data"


@functools.cache
def records(name):
    """Trials of a file that were right."""
    path = DATA / name
    with (lzma.open if name.endswith(".xz") else open)(path, "rt") as lines:
        found = (json.loads(line) for line in lines)
        return [record for record in found if record.get("status") == "correct"]


# Of a line of a study, which are too many for a reader of JSON: sizes, entries, weights, V, configuration, time.
STUDIED = re.compile(r'"K":(\d+),"M":(\d+),"N":(\d+).*?"nnz":(\d+),"hash":"([^"]*)".*?"V":(\d+)'
                     r'.*?"config":(\{[^}]*\}),"status":"correct".*?"median":([0-9.]+)')


@functools.cache
def study(name):
    """{((M, K, N), V, density, weights): {configuration: microseconds}} of trials that were right."""
    with lzma.open(DATA / name, "rt") as lines:
        text = lines.read()
    problems = {}
    for k, m, n, entries, weights, v, configuration, time in STUDIED.findall(text):
        size = int(m), int(k), int(n)
        key = size, int(v), int(entries) / (size[0] * size[1]), weights
        problems.setdefault(key, {})[configuration] = float(time)
    return problems


def size_of(record):
    problem = record["problem"]
    return problem["M"], problem["K"], problem["N"]


def zero_of(record):
    """In percent."""
    m, k, _ = size_of(record)
    return round(100 * (1 - record["pattern"]["nnz"] / (m * k)))


def time_of(record, name=None):
    """Microseconds: its own, or those of what was timed beside it; None where that was not."""
    if name is None:
        return record["us"]["median"]
    return next((other["us"] for other in record.get("baselines", []) if other["name"] == name), None)


def ratio(record, name):
    return time_of(record, name) / time_of(record)


def mean(values):
    """The geometric one."""
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(str(cell) for cell in line) + " |\n" for line in lines)


def by_size(name):
    """[(size, {zero: record})] in the order of the file."""
    found = {}
    for record in records(name):
        found.setdefault(size_of(record), {})[zero_of(record)] = record
    return list(found.items())


def write_normal(path, rows, columns):
    """A .npy file of f32, the same each time."""
    draw = random.Random(1)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}".ljust(117) + "\n"
    values = struct.pack(f"<{rows * columns}f", *(draw.gauss(0, 1) for _ in range(rows * columns)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + values)
    return path


# Speed-ups of Table 1, over cuBLAS on a T4: at 90 and, where there are weights, at 95 %.
SPARSERT_TABLE_1 = [(4.3, 5.7), (2.5, 3.0), (4.0, 5.9), (3.7, 4.5), (3.0, 4.4), (3.1, 4.2), (2.7, 4.5), (4.8, 6.6),
                    (4.2, 6.8), (4.2, 7.6), (6.0, 9.0), (1.4,), (3.4,), (4.0,), (4.2,), (3.5,), (2.3,), (3.2,), (2.6,),
                    (4.5,)]
SPARSERT_NETWORKS = ["ResNet-50"] * 8 + ["Transformer"] * 3 + ["MobileNet V1"] * 9
# Speed-ups of Table 3, over cuDNN on a T4.
SPARSERT_TABLE_3 = [(3.7, 5.3), (2.0, 3.5), (1.4, 2.5), (2.4, 8.5)]


def sparsert_table_1():
    beside = [("cuBLAS f32", 90), ("cuBLAS f32", 95), ("cuSPARSE csr", 90), ("cuSPARSE csr", 95)]
    sizes = by_size("h200_sparsert.jsonl")
    rows = []
    for number, (size, at) in enumerate(sizes):
        paper = (*SPARSERT_TABLE_1[number], "-")[:2]
        rows.append([number + 1, SPARSERT_NETWORKS[number], "{} x {} x {}".format(*size), *paper,
                     *(f"{ratio(at[zero], name):.2f}" for name, zero in beside)])
    published = [mean(row[zero] for row in SPARSERT_TABLE_1 if len(row) > zero) for zero in (0, 1)]
    rows.append(["", "", "geometric mean of the column", *(f"{value:.2f}" for value in published),
                 *(f"{mean(ratio(at[zero], name) for _, at in sizes):.2f}" for name, zero in beside)])
    return table(["id", "network", "M x K x N", "T4, 90 %", "T4, 95 %", "H200, 90 %", "H200, 95 %",
                  "over cuSPARSE, 90 %", "over cuSPARSE, 95 %"], rows)


def rate(record, name=None):
    """Trillion operations of stored weights a second."""
    return 2 * record["pattern"]["nnz"] * size_of(record)[2] / time_of(record, name) / 1e6


def sparsert_figure_4():
    columns = [(90, "cuBLAS f32"), (90, "cuSPARSE csr"), (90, None), (95, None)]
    rows = [[number, "{} x {} x {}".format(*size), *(f"{rate(at[zero], name):.2f}" for zero, name in columns)]
            for number, (size, at) in enumerate(by_size("h200_sparsert.jsonl"), 1)]
    return table(["id", "M x K x N", "cuBLAS f32, 90 %", "cuSPARSE csr, 90 %", "weft, 90 %", "weft, 95 %"], rows)


def sparsert_wide():
    sizes = by_size("h200_sparsert_32.jsonl")
    rows = []
    for zero in (90, 95):
        for name in ("cuBLAS f32", "cuSPARSE csr"):
            ratios = [ratio(at[zero], name) for _, at in sizes]
            rows.append([f"{zero} %", name, f"{mean(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"])
    return table(["zeros", "over", "geometric mean", "least", "most"], rows)


def sparsert_table_3():
    alone, many = by_size("h200_sparsert_images.jsonl"), by_size("h200_sparsert_images_32.jsonl")
    network = {}
    for record in records("h100_resnet50_layers.jsonl.xz"):
        if "extent_r" not in record["problem"] or record["problem"]["extent_r"] != 3:
            continue
        layer = network.setdefault((*size_of(record), 95 if zero_of(record) > 93 else 90), [])
        layer.append((time_of(record), time_of(record, "cuDNN f32")))
    rows = []
    for number, ((size, at), (_, at_32)) in enumerate(zip(alone, many)):
        for paper, zero in zip(SPARSERT_TABLE_3[number], (90, 95)):
            trials = network.get((*size, zero), [])
            dense = [cudnn for _, cudnn in trials if cudnn]
            h100 = f"{min(dense) / min(time for time, _ in trials):.2f}" if dense else "-"
            edge = at[zero]["problem"]["extent_p"]
            rows.append([f"{edge} x {edge}", f"{size[0]}", f"{zero} %", paper, f"{ratio(at[zero], 'cuDNN f32'):.2f}",
                         f"{ratio(at_32[zero], 'cuDNN f32'):.2f}", h100])
    return table(["image", "channels in and out", "zeros", "T4", "H200", "H200, batch 32", "H100, best trial"], rows)


def sparsert_figure_8():
    """The fastest right trial of each form; the numbers are those of the recipe's knob."""
    forms = {1: "baked", 3: "row_per_warp", 2: "streaming"}
    problems = {}
    for record in records("h200_oracle_f32.jsonl.xz"):
        problem = problems.setdefault((size_of(record), zero_of(record)), {})
        form = forms.get(record["config"].get("form"), "default") if record["recipe"] == "sparsert" else "default"
        problem.setdefault(form, []).append(time_of(record))
    rows = []
    for (size, zero), times in problems.items():
        best = {form: min(times[form]) if form in times else None for form in (*forms.values(), "default")}
        memory = min(time for form, time in best.items() if form in ("row_per_warp", "streaming") and time)
        cuts = sorted(times["baked"])
        rows.append(["{} x {} x {}".format(*size), f"{zero} %",
                     *(f"{time:.2f}" if time else "-" for time in best.values()), f"{memory / best['baked']:.2f}",
                     len(cuts), f"{cuts[len(cuts) // 2] / cuts[0]:.2f}" if len(cuts) > 15 else "-"])
    return table(["M x K x N", "zeros", "in the code", "a row a warp", "streaming", "default schedule",
                  "memory over code", "cuts", "median cut over best"], rows)


SERIES_OF_FIGURE_1 = {"shfl_bw, V = 32": "shfl_bw:V=32", "V = 64": "shfl_bw:V=64", "V = 128": "shfl_bw:V=128",
                      "no pattern, f16": None, "no pattern, f32": None}


def figure_1():
    """{series: {zero: (microseconds, speed-up over cuBLAS)}}: the fastest of each search."""
    found = {name: {} for name in SERIES_OF_FIGURE_1}
    for record in records("h200_figure_1.jsonl"):
        kind, dtype = record["pattern"]["kind"], record["problem"]["dtype"]
        name = next((name for name, wanted in SERIES_OF_FIGURE_1.items() if wanted == kind), f"no pattern, {dtype}")
        times = time_of(record), ratio(record, f"cuBLAS {dtype}")
        of_zero = found[name].setdefault(zero_of(record), times)
        found[name][zero_of(record)] = min(of_zero, times)
    return found


def shfl_bw_figure_1():
    found = figure_1()
    rows = [[f"{zero} %", *(f"{found[name][zero][0]:.2f} us, **{found[name][zero][1]:.2f}**" for name in found)]
            for zero in sorted(found["V = 64"])]
    return table(["zeros", *found], rows)


def shfl_bw_figure_1_crossing():
    """Between two shares of zeros the logarithm of the speed-up is a straight line."""
    rows = []
    for name, times in figure_1().items():
        zeros = sorted(times)
        crossing = next((low, high) for low, high in zip(zeros, zeros[1:]) if times[low][1] < 1 <= times[high][1])
        below, above = (math.log(times[zero][1]) for zero in crossing)
        rows.append([name, f"{crossing[0] - (crossing[1] - crossing[0]) * below / (above - below):.0f} %"])
    return table(["", "as fast as dense of the same type from"], rows)


def shfl_bw_section_3_2():
    """What follows from the formulas of the paper, in which nothing is measured."""
    rows = []
    for m in (512, 2048):
        for v in (32, 64, 128):
            orders = math.lgamma(m + 1) - m // v * math.lgamma(v + 1)
            rows.append([m, v, f"e^{orders:.0f}"])
    return table(["M", "V", "ways to put M rows into groups of V"], rows)


def shfl_bw_figure_5():
    """Shares of the sum of |w| that weft prune keeps of weights drawn from a normal distribution."""
    rows = []
    with tempfile.TemporaryDirectory(prefix="weft_papers_") as folder:
        weights = write_normal(pathlib.Path(folder) / "normal.npy", 512, 512)
        for v in (32, 64):
            for sparsity in ("0.8", "0.9"):
                said = subprocess.run([WEFT, "prune", weights, "--format", f"shfl_bw:V={v}", "--sparsity", sparsity,
                                       "--json"], check=True, capture_output=True, text=True).stdout
                kept = [f"{100 * method['kept_score']:.1f} %" for method in json.loads(said)["methods"]]
                rows.append([v, f"{100 * float(sparsity):.0f} %", *kept])
    return table(["V", "zeros", "shfl_bw", "anywhere", "vector_wise", "blocks of V x V"], rows)


def shfl_bw_figure_6():
    products = {}
    for record in records("h200_row_groups.jsonl"):
        v = int(record["pattern"]["kind"].removeprefix("shfl_bw:V="))
        products.setdefault((size_of(record), v), {})[zero_of(record)] = record

    def cells(at, beside=None):
        """Dense over weft's kernel, or over what is called `beside`."""
        for zero in (50, 75, 90):
            other = time_of(at[zero], beside) if zero in at else None
            yield f"{time_of(at[zero], 'cuBLAS f16') / other:.2f}" if other else "-"

    rows = [["{} x {} x {}".format(*size), v, *cells(at), *cells(at, "cuSPARSE Blocked-ELL"),
             next(cells(at, "cuSPARSELt 2:4"))] for (size, v), at in products.items()]
    return table(["M x K x N", "V", "weft, 50 %", "75 %", "90 %", "Blocked-ELL, 50 %", "75 %", "90 %", "2:4, 50 %"],
                 rows)


def rows_of_measurements(page, head):
    """The cells of the table of docs/measurements that begins so."""
    lines = (DATA.parent / "measurements" / page).read_text().split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith(head)) + 2
    for line in itertools.takewhile(lambda line: line.startswith("|"), lines[first:]):
        yield [cell.strip() for cell in line.strip("|").split("|")]


def shfl_bw_figure_6_images():
    """Cells are "8.6 (1.59)": microseconds, and cuDNN over them."""
    columns = [(batch, v, zero) for batch in (16, 64) for v in (64, 32) for zero in (75, 90)]
    found = {column: [] for column in columns}
    for cells in rows_of_measurements("row_groups.md", "| layer | | b16: cuDNN"):
        for column, cell in zip(columns, cells[3:7] + cells[8:12]):
            if cell != "-":
                found[column].append(float(cell[cell.index("(") + 1:-1]))
    rows = [[v, batch, f"{zero} %", len(ratios), f"{mean(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"]
            for (batch, v, zero), ratios in sorted(found.items(), key=lambda item: (-item[0][1], item[0]))]
    return table(["V", "images", "zeros", "layers", "geometric mean", "least", "most"], rows)


def simulated(problems, densities):
    """{(size, density): [clocks of one width, of HB-ELL, of dense]}, measured now on the simulated tensor core."""
    with tempfile.TemporaryDirectory(prefix="weft_papers_") as folder:
        suite, lines = pathlib.Path(folder) / "suite.json", pathlib.Path(folder) / "lines.json"
        suite.write_text(json.dumps({"suite": "hb_ell_simulated", "dtype": "f16", "density": densities, "problems": [
            {"M": m, "N": n, "K": k} for m, k, n in problems]}))
        subprocess.run([WEFT, "bench", "--suite", suite, "--rounds", "5", "--json", lines], check=True,
                       capture_output=True)
        found = {}
        for line in map(json.loads, lines.read_text().splitlines()):
            assert not any(entry["wrong"] for entry in line["entries"]), line
            found["x".join(str(line["problem"][name]) for name in "MKN"), f"{line['density']:.3f}"] = [
                f"{entry['clocks']:.0f}" for entry in line["entries"]]
        return found


def hb_ell_figure_5():
    """As it was measured, but for the small ones, which are measured again."""
    now = simulated([(64, 16, 64), (128, 16, 128)], [0.1, 0.9]) if SIMULATOR else {}
    rows = []
    for size, density, _, one_width, hb_ell, _, dense, bound in rows_of_measurements(
            "hb_ell.md", "| M x K x N | density | pieces / blocks"):
        one_width, hb_ell, dense = now.get((size, density), [one_width, hb_ell, dense])
        rows.append([size, density, one_width, hb_ell, f"{int(one_width) / int(hb_ell):.2f}", dense, bound])
    assert len(rows) > len(now) and all(any((row[0], row[1]) == key for row in rows) for key in now)
    return table(["M x K x N", "density", "one width", "HB-ELL", "one width over HB-ELL", "dense", "HB-ELL bound by"],
                 rows)


def hb_ell_real():
    rows = [[weights, density, one_width, hb_ell, f"{int(one_width) / int(hb_ell):.2f}", dense]
            for weights, density, _, one_width, hb_ell, _, dense in rows_of_measurements(
                "hb_ell.md", "| weights | density | pieces / blocks")]
    return table(["weights", "density", "one width", "HB-ELL", "one width over HB-ELL", "dense"], rows)


def hb_ell_gpu():
    """Geometric means over twelve products at each sparsity."""
    names = ["hb_ell", "every", "pairs", "quads"]
    found = {}
    for _, zeros, cublas, csr, *times, _, _ in rows_of_measurements("hb_ell.md", "| M x K x N | zero | cuBLAS f16 |"):
        # Of one matrix 91 and 96 % of the weights are zero where 90 and 95 are of the others.
        found.setdefault({"91 %": "90 %", "96 %": "95 %"}.get(zeros, zeros), []).append(
            (float(cublas), float(csr), *map(float, times)))
    rows = [[zeros, len(lines), *(f"{mean(line[1] / line[2 + at] for line in lines):.2f}" for at in range(len(names))),
             f"{mean(line[0] / min(line[2:]) for line in lines):.2f}"] for zeros, lines in found.items()]
    return table(["zeros", "products", *(f"`{name}` over csr" for name in names), "the best of them over cuBLAS"], rows)


def normalised(problems, share=0.98):
    """{problem: configuration}: of those that reach the share of its best, the one that most problems share."""
    left = {key: {name for name, time in times.items() if min(times.values()) / time >= share}
            for key, times in problems.items()}
    chosen = {}
    while left:
        counts = collections.Counter(name for names in left.values() for name in names)
        most = max(counts, key=lambda name: (counts[name], name))
        for key in [key for key, names in left.items() if most in names]:
            chosen[key] = most
            del left[key]
    return chosen


def stuning_dl_figure_8():
    """Configurations that are the best of some product, before and after normalising."""
    problems = study("h200_shfl_bw_study.jsonl.xz")
    raw, norm = {key: min(times, key=times.get) for key, times in problems.items()}, normalised(problems)
    ranges = {"0.05": (0, 0.07), "0.1": (0.07, 0.12), "0.15 to 0.2": (0.12, 0.22), "0.25 to 0.3": (0.22, 0.4),
              "0.5": (0.4, 1), "all": (0, 1)}
    rows = []
    for m in (*sorted({size[0] for size, *_ in problems}), None):
        row = ["all" if m is None else m]
        for least, most in ranges.values():
            keys = [key for key in problems if least <= key[2] < most and m in (key[0][0], None)]
            row.append(f"{len({raw[key] for key in keys})}, {len({norm[key] for key in keys})} of {len(keys)}")
        rows.append(row)
    return table(["M", *(f"density {name}" for name in ranges)], rows)


def stuning_dl_table_6():
    """Predictors of both studies on matrices that they have not seen, as search.md has them."""
    rows = []
    for what, head in (("row groups, H200", "| | accuracy | within 2 %"),
                       ("V:2:M, H100", "| matrices not seen before | accuracy |")):
        rows += [[what, *cells] for cells in rows_of_measurements("search.md", head)]
    return table(["study", "chosen by", "accuracy", "within 2 % of the fastest", "mean of the oracle", "worst"], rows)


def nearest_tiles():
    """Of 294 products of the study the best time, and those of the configurations nearest to the tiles that cuSPARSE
    and cuSPARSELt chose: records for weft plot."""
    tiles = {"cuSPARSE's tile": "blocked ell", "cuSPARSELt's tile": "cusparselt chosen"}
    by_problem = {(*size, v, round(density, 4)): (weights, times)
                  for (size, v, density, weights), times in study("h200_shfl_bw_study.jsonl.xz").items()}

    @functools.cache
    def parsed(configuration):
        return tuple(sorted(json.loads(configuration).items()))

    found = []
    with lzma.open(DATA / "h200_vendor_choices.jsonl.xz", "rt") as lines:
        for one in map(json.loads, lines):
            size = one["M"], one["K"], one["N"]
            weights, times = by_problem[(*size, one["V"], one["density"])]
            times = {parsed(name): time for name, time in times.items()}
            beside = []
            for name, run in tiles.items():
                tile = vendor_configurations.tiles_of(one["times"][run]["kernels"][0])
                beside.append({"name": name, "dense": False, "us": times[vendor_configurations.nearest(tile, times)]})
            # To a hundredth, so that those of one sparsity stand above one another.
            entries = round(size[0] * size[1] * round(one["density"], 2))
            found.append({"kernel": "spmm",
                          "problem": {**dict(zip("MKN", size)), "dtype": "f16", "acc": "f32"},
                          "pattern": {"kind": f"shfl_bw:V={one['V']}", "nnz": entries, "hash": weights},
                          "target": {"sm": "sm_90a", "gpu": "NVIDIA H200"}, "recipe": "shfl_bw", "config": {},
                          "status": "correct", "measure": "gpu", "us": {"median": min(times.values()), "n": 5},
                          "baselines": beside})
    return "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in ({"weftdb": 1}, *found))


def stuning_dl_figure_13():
    found = {}
    for record in records("h200_vendor_tiles.jsonl"):
        v = int(record["pattern"]["kind"].removeprefix("shfl_bw:V="))
        pair = ratio(record, "cuSPARSE's tile"), ratio(record, "cuSPARSELt's tile")
        found.setdefault((v, zero_of(record)), []).append(pair)
    rows = []
    for (v, zero), ratios in sorted(found.items()):
        columns = [[pair[at] for pair in ratios] for at in (0, 1)]
        rows.append([v, f"{zero} %", len(ratios), *(text for column in columns for text in
                                                    (f"{mean(column):.2f}", f"{max(column):.2f}"))])
    return table(["V", "zeros", "products", "over cuSPARSE's tile", "most", "over cuSPARSELt's tile", "most"], rows)


def stuning_dl_table_2():
    tiles = collections.Counter()
    with lzma.open(DATA / "h200_vendor_choices.jsonl.xz", "rt") as lines:
        for one in map(json.loads, lines):
            for name in ("cusparselt chosen", "blocked ell"):
                tiles[name, vendor_configurations.tiles_of(one["times"][name]["kernels"][0])] += 1
    rows = [[{"cusparselt chosen": "cuSPARSELt, 2:4", "blocked ell": "cuSPARSE, Blocked-ELL"}[name],
             " x ".join(map(str, tile[:3])), count] for (name, tile), count in tiles.most_common()]
    return table(["library", "tile: rows x columns x places", "products"], rows)
