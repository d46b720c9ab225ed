"""Tables of what tests/accuracy/study.py found, from docs/data/accuracy.jsonl.xz: as those of paper_tables.py."""
import functools
import json
import lzma
import statistics

import paper_tables
from paper_tables import table

FILE = "accuracy.jsonl.xz"
MODELS = {"mlp": "MLP, digits", "mlp_teacher": "MLP, teacher", "cnn": "CNN, digits", "transformer": "Transformer, sorting",
          "lstm": "LSTM, addition"}
METHODS = {"one_shot": "at once", "gradual": "gradually", "grow_and_prune": "Grow and Prune", "admm": "ADMM"}
SPARSITIES = (0.75, 0.9, 0.95)
# The rows V of a group or block that all networks were pruned with.
V = 16
BY_FREEDOM = ("csr", f"shfl_bw:V={V}", f"vector_wise:V={V}", f"bcsr:b={V}")


@functools.cache
def runs():
    with lzma.open(paper_tables.DATA / FILE, "rt") as lines:
        return list(map(json.loads, lines))


@functools.cache
def by_place():
    """{(model, method, pattern, sparsity): {seed: record}}"""
    found = {}
    for run in runs():
        found.setdefault((run["model"], run["method"], run["pattern"], run["sparsity"]), {})[run["seed"]] = run
    return found


def patterns_at(sparsity):
    """Those that every network was pruned to, the freest first."""
    own = "n_m" if sparsity == 0.5 else f"v_n_m:V={V},M={round(2 / (1 - sparsity))}"
    return ("csr", own) if sparsity == 0.5 else (*BY_FREEDOM, own)


def percent(sparsity):
    return f"{100 * sparsity:g} %"


def spread(values):
    """The mean and the deviation of the sample, in percent."""
    values = [100 * value for value in values]
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"


def cell(place, field="pruned"):
    found = by_place().get(place, {}).values()
    return spread([run[field] for run in found]) if len(found) > 1 else "-"


def zeros_of(pattern, sparsity):
    """The least and the most of the networks: blocks that overhang an edge keep as much as others."""
    zeros = [100 * run["zeros"] for run in runs() if (run["pattern"], run["sparsity"]) == (pattern, sparsity)]
    least, most = f"{min(zeros):.1f}", f"{max(zeros):.1f}"
    return least if least == most else f"{least} to {most}"


def by_model(method, field="pruned"):
    rows = []
    for sparsity in (0.5, *SPARSITIES):
        for pattern in patterns_at(sparsity):
            cells = [cell((model, method, pattern, sparsity), field) for model in MODELS]
            if any(text != "-" for text in cells):
                rows.append([zeros_of(pattern, sparsity), f"`{pattern}`", *cells])
    return table(["zeros, %", "pattern", *MODELS.values()], rows)


def accuracy_dense():
    rows = []
    for model, name in MODELS.items():
        dense = {run["seed"]: run["dense"] for run in runs() if run["model"] == model}
        steps = {run["steps"] for run in runs() if run["model"] == model}
        rows.append([name, len(dense), spread(dense.values()), *steps, cell((model, "one_shot", "csr", 0.0))])
    return table(["network", "seeds", "dense", "further steps", "dense, trained on as long"], rows)


def accuracy_one_shot():
    return by_model("one_shot")


def accuracy_gradual():
    return by_model("gradual")


def accuracy_grow_and_prune():
    return by_model("grow_and_prune")


def accuracy_admm():
    return by_model("admm")


def accuracy_at_once():
    return by_model("one_shot", "at_once")


def accuracy_kept():
    return by_model("one_shot", "kept_score")


def pairs(one, other, sparsity, models=MODELS, methods=METHODS):
    """Accuracies of runs that differ in the pattern alone."""
    for model in models:
        for method in methods:
            ours = by_place().get((model, method, one, sparsity), {})
            theirs = by_place().get((model, method, other, sparsity), {})
            for seed in sorted(set(ours) & set(theirs)):
                yield ours[seed]["pruned"], theirs[seed]["pruned"]


def accuracy_order():
    """How often a freer pattern is more accurate than the next one, and shuffled groups than blocks."""
    rows = []
    anywhere, shuffled, vectors, blocks = BY_FREEDOM
    for one, other in ((anywhere, shuffled), (shuffled, vectors), (vectors, blocks), (shuffled, blocks)):
        for sparsity in SPARSITIES:
            found = list(pairs(one, other, sparsity))
            means = []
            for model in MODELS:
                for method in METHODS:
                    of_model = list(pairs(one, other, sparsity, [model], [method]))
                    if of_model:
                        means.append(statistics.mean(ours - theirs for ours, theirs in of_model))
            rows.append([f"`{one}` over `{other}`", percent(sparsity), len(found),
                         sum(ours > theirs for ours, theirs in found), sum(ours == theirs for ours, theirs in found),
                         sum(ours < theirs for ours, theirs in found),
                         f"{100 * statistics.mean(ours - theirs for ours, theirs in found):+.1f}",
                         f"{sum(mean >= 0 for mean in means)} of {len(means)}", f"{100 * min(means):+.1f}",
                         f"{100 * max(means):+.1f}"])
    return table(["patterns", "zeros", "pairs of runs", "higher", "equal", "lower", "mean, points",
                  "means at least as high", "least mean", "largest mean"], rows)


def accuracy_methods():
    """Points over pruning at once, the same network, pattern and seed."""
    rows = []
    for sparsity in SPARSITIES:
        for pattern in patterns_at(sparsity):
            cells = []
            for method in list(METHODS)[1:]:
                differences = [run["pruned"] - by_place()[model, "one_shot", pattern, sparsity][seed]["pruned"]
                               for model in MODELS
                               for seed, run in by_place().get((model, method, pattern, sparsity), {}).items()]
                cells.append(f"{100 * statistics.mean(differences):+.1f} ({100 * min(differences):+.1f} to "
                             f"{100 * max(differences):+.1f}; {len(differences)})" if differences else "-")
            rows.append([percent(sparsity), f"`{pattern}`", *cells])
    return table(["zeros", "pattern", *list(METHODS.values())[1:]], rows)


def accuracy_groups():
    """The MLP on digits, pruned at once, with other V."""
    rows = []
    for sparsity in SPARSITIES:
        for v in (8, 16, 32):
            rows.append([percent(sparsity), v, *(cell(("mlp", "one_shot", f"{pattern}={v}", sparsity))
                                                 for pattern in ("shfl_bw:V", "vector_wise:V", "bcsr:b")),
                         cell(("mlp", "one_shot", "csr", sparsity))])
    return table(["zeros", "V", "shfl_bw", "vector_wise", "bcsr", "csr"], rows)


def accuracy_quantized():
    """f32, and what bytes add to it in points: mean and deviation of the differences."""
    rows = []
    for model in ("mlp", "cnn"):
        for sparsity in (0.0, 0.5, *SPARSITIES):
            for pattern in patterns_at(sparsity) if sparsity else ("csr",):
                found = by_place()[model, "one_shot", pattern, sparsity].values()
                differences = [spread([run["quantized"][how] - run["pruned"] for run in found])
                               for how in ("e4m3", "e5m2", "i8")]
                rows.append([MODELS[model], percent(sparsity), f"`{pattern}`" if sparsity else "dense", spread([run["pruned"] for run in found]),
                             *(text if text.startswith("-") else "+" + text for text in differences)])
    return table(["network", "zeros", "pattern", "f32", "e4m3", "e5m2", "i8"], rows)


def speed_ups():
    """{(format, percent of zeros): (speed-up, of which kernel)} of 5120 x 5120 x 4096 in f16 on an H200, over cuBLAS."""
    kinds = {"shfl_bw:V=64": ("shfl_bw", "V = 64"), "v_n_m:M=8,V=64": ("v_n_m", "64:2:8"),
             "v_n_m:M=20,V=64": ("v_n_m", "64:2:20"), "column_quads": ("csr", "`column_quads`"),
             "n_m:V=128": ("n_m", "2:4")}
    found = {}
    for record in paper_tables.records("h200_speed_ups.jsonl"):
        if record["pattern"]["kind"] in kinds:
            name, kernel = kinds[record["pattern"]["kind"]]
            found[name, paper_tables.zero_of(record)] = paper_tables.ratio(record, "cuBLAS f16"), kernel
            if name == "shfl_bw":
                found["vector_wise", paper_tables.zero_of(record)] = found[name, paper_tables.zero_of(record)]
    for record in paper_tables.records("h200_row_groups.jsonl"):
        blocks = paper_tables.time_of(record, "cuSPARSE Blocked-ELL")
        if paper_tables.size_of(record) == (5120, 5120, 4096) and record["pattern"]["kind"] == "shfl_bw:V=64" and blocks:
            found["bcsr", paper_tables.zero_of(record)] = (paper_tables.time_of(record, "cuBLAS f16") / blocks,
                                                          "cuSPARSE Blocked-ELL")
    return found


def shfl_bw_figure_2():
    """An LSTM, which GNMT is made of, by the method that the paper has for it too, beside times of a large product."""
    rows, times = [], speed_ups()
    columns = (("lstm", "gradual"), ("lstm", "admm"), ("transformer", "gradual"))
    for sparsity in (0.5, *SPARSITIES):
        for pattern in patterns_at(sparsity):
            name = pattern.partition(":")[0]
            speed = times.get((name, round(100 * sparsity)))
            rows.append([percent(sparsity), f"`{pattern}`",
                         *(cell((model, method, pattern, sparsity)) for model, method in columns),
                         f"{speed[0]:.2f}" if speed else "-", speed[1] if speed else "-"])
    return table(["zeros", "pattern", *(f"{MODELS[model]}, {METHODS[method]}" for model, method in columns),
                  "over cuBLAS f16", "kernel"], rows)


def shfl_bw_table_1():
    """Networks of the paper's kinds."""
    columns = (("transformer", "gradual"), ("lstm", "gradual"), ("lstm", "admm"), ("cnn", "gradual"))
    rows = [["", "dense", *(cell((model, "one_shot", "csr", 0.0), "dense") for model, _ in columns)]]
    for sparsity in (0.75, 0.9):
        for pattern in reversed(BY_FREEDOM):
            rows.append([percent(sparsity), f"`{pattern}`",
                         *(cell((model, method, pattern, sparsity)) for model, method in columns)])
    return table(["zeros", "pattern", *(f"{MODELS[model]}, {METHODS[method]}" for model, method in columns)], rows)


def sparsert_table_2():
    """Accuracy pruned over that of the dense network, weights anywhere."""
    rows = []
    for model, name in MODELS.items():
        dense = by_place()[model, "one_shot", "csr", 0.0]
        for method in METHODS:
            cells = []
            for sparsity in (0.75, 0.9, 0.95):
                found = by_place().get((model, method, "csr", sparsity), {})
                shares = [run["pruned"] / dense[seed]["pruned"] for seed, run in found.items() if seed in dense]
                cells.append(spread(shares) if len(shares) > 1 else "-")
            if cells != ["-"] * 3:
                rows.append([name, METHODS[method], *cells])
    return table(["network", "pruned", "75 %", "90 %", "95 %"], rows)
