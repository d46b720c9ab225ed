#!/usr/bin/env python3
"""What weft chooses on the CPU beside the best that a search finds, and beside PyTorch, one thread each.

    cpu_beside.py WEFT SUITE OUT.jsonl [--only 1,2] [--seconds 600] [--each 20] [--trials 60] [--cores 2,3] [--keep FOLDER]

WEFT is the command, SUITE a file of problems with a "pattern" each, as `weft bench --suite` takes it. For each problem:
`weft bench --device cpu` (verified) times what is chosen, `weft tune --measure cpu` of every format that is worth trying, and
of csc, up to --trials points in --each seconds, says what the best is, and PyTorch times the same product: dense, and where
it is a product its sparse csr. Cores of --cores take problems in turn, each process on one core; without it one process runs
where it likes. A time is that of the fastest sample, because others share the machine. One line of JSON a problem goes to OUT,
a table is printed last. What is chosen and the best that was found run once more in turns, --turns times each: the fastest of many
trials is one that chance was kind to. Problems that begin later than --seconds are left out and counted. Blocks and groups of channels have no flags of `weft tune`: they have no best.

Without PyTorch its columns are empty, with the reason. Its data are random, its types those of the problem.
"""
import argparse
import json
import math
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weft")
    parser.add_argument("suite")
    parser.add_argument("out")
    parser.add_argument("--only", default="", help="ids, with commas between them")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--each", type=float, default=20, help="seconds of a search")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--cores", default="", help="numbers of processors, with commas between them")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--keep", default="", help="folder for the trials, a file a problem")
    parser.add_argument("--no-torch", action="store_true")
    return parser.parse_args()


def sizes(p):
    """Rows and columns of the weights."""
    if p["op"] == "conv2d":
        return p["F"], p["C"] // p.get("groups", 1) * p["R"] * p["S"]
    return p["M"], p["K"]


def flags_of(p):
    """Those of `weft tune` that make the problem; nothing where there are none."""
    rows, columns = sizes(p)
    weights = f"made:M={rows},K={columns},seed={p['id']}"
    pattern = p["pattern"]
    if pattern == "blocks" or p.get("groups", 1) != 1:
        return None
    if pattern == "2:4":
        weights += ",of=4"
    elif ":" in pattern:
        group, _, of = pattern.split(":")
        weights += f",V={group},of={of}"
    else:
        weights += f",sparsity={p['sparsity']}" + (f",V={p['V']}" if pattern == "shuffled_rows" else "")
    flags = ["--op", p["op"], "--weights", weights, "--dtype", p["dtype"]]
    if p["op"] == "conv2d":
        flags += ["--filter", f"{p['R']}x{p['S']}", "--image", f"{p['H']}x{p['W']}", "--batch", str(p["batch"]),
                  "--pad", str(p["pad"]), "--stride", str(p["stride"]), "--dilation", str(p.get("dilation", 1)),
                  "--layout", p["layout"]]
    elif p["op"] != "spmv":
        flags += ["--n", str(p["N"])]
    return flags + (["--bias", "random:3", "--activation", "relu"] if p["op"] == "linear" else [])


def call(command, core, seconds):
    """What it printed; empty where it failed or took longer."""
    pinned = (["taskset", "-c", core] if core else []) + command
    environment = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")
    try:
        done = subprocess.run(pinned, capture_output=True, text=True, timeout=seconds, env=environment)
    except subprocess.TimeoutExpired:
        return ""
    if done.returncode != 0:
        print("failed:", " ".join(command[:6]), done.stderr.strip()[-300:], file=sys.stderr)
    return done.stdout


def automatic(o, p, core, folder):
    """Microseconds, and the way."""
    lines = os.path.join(folder, "bench.jsonl")
    if os.path.exists(lines):
        os.remove(lines)
    call([o.weft, "bench", "--suite", o.suite, "--only", str(p["id"]), "--device", "cpu", "--json", lines], core, 60)
    if not os.path.exists(lines):
        return None, ""
    line = json.loads(open(lines).read().splitlines()[-1])
    us = line["entries"][-1].get("us")
    return us["minimum"] if us else None, line.get("expected", {}).get("way", "")


def point_of(record):
    knobs = ",".join(f"{name}={value}" for name, value in record["config"].items())
    return f"{record['recipe']}:{knobs} in {record['pattern']['kind']}"


def best_found(o, p, core, folder):
    """Microseconds, the point, how many were tried, and the file of the schedule."""
    flags, best, tried, schedule = flags_of(p), None, 0, ""
    if flags is None:
        return None, "", 0, ""
    for formats, seconds in (([], o.each), (["--format", "csc"], 5)):
        file = os.path.join(folder, f"best{len(formats)}.json")
        text = call([o.weft, "tune", "--measure", "cpu", "--target", "cpu", "--trials", str(o.trials), "--time",
                     f"{seconds}s", "--jobs", "1", "--no-dense", "--progress", "none", "--json", "--db",
                     os.path.join(o.keep or folder, f"{p['id']}.jsonl"), "-o", file, *flags, *formats],
                    core, seconds + 30)
        if not text.strip():
            continue
        found = json.loads(text)
        tried += found["trials"]
        record = found.get("best")
        if record and (best is None or record["us"]["min"] < best["us"]["min"]):
            best, schedule = record, file
    return (best["us"]["min"], point_of(best), tried, schedule) if best else (None, "", tried, "")


def in_turns(o, p, core, schedule):
    """Microseconds of what is chosen and of the schedule; infinity where one cannot run."""
    ways, least = [[], ["--schedule", schedule]], [math.inf, math.inf]
    for _ in range(o.turns):
        for i, way in enumerate(ways):
            text = call([o.weft, "run", *flags_of(p), "--device", "cpu", "--json", *way], core, 60)
            if text.strip():
                least[i] = min(least[i], json.loads(text)["us"]["minimum"])
    return least


def of_torch(p):
    """Microseconds of PyTorch in this process: the fastest of what does it densely, and its sparse csr."""
    import torch
    import torch.nn.functional as functional
    torch.set_num_threads(1)
    dtype = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}[p["dtype"]]
    rows, columns = sizes(p)
    sparsity = p.get("sparsity", 1 - 2 / int(p["pattern"].split(":")[-1]) if ":" in p["pattern"] else 0)
    weights = (torch.rand(rows, columns) - 0.5) * (torch.rand(rows, columns) >= sparsity)
    dense = weights.to(dtype)

    def microseconds(work):
        work()
        samples, begin = [], time.perf_counter()
        while len(samples) < 5 or (time.perf_counter() - begin < 0.3 and len(samples) < 200):
            start = time.perf_counter()
            work()
            samples.append(1e6 * (time.perf_counter() - start))
            if time.perf_counter() - begin > 5:
                break
        return min(samples)

    with torch.inference_mode():
        if p["op"] == "conv2d":
            image = torch.rand(p["batch"], p["C"], p["H"], p["W"]).to(dtype)
            filters = dense.reshape(p["F"], -1, p["R"], p["S"])
            if p["layout"] == "nhwc":
                image, filters = (x.to(memory_format=torch.channels_last) for x in (image, filters))
            if p["layout"] == "chwn":
                image = image.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)
            return {"dense": microseconds(lambda: functional.conv2d(
                image, filters, stride=p["stride"], padding=p["pad"], dilation=p.get("dilation", 1),
                groups=p.get("groups", 1)))}
        operand = (torch.rand(columns, p.get("N", 1)) - 0.5).to(dtype)
        turned = operand.t().contiguous()
        times = {"dense": min(microseconds(lambda: torch.mm(dense, operand)),
                              microseconds(lambda: functional.linear(turned, dense)))}
        try:
            csr = dense.to_sparse_csr()
            times["csr"] = microseconds(lambda: csr @ operand)
        except RuntimeError as error:
            times["why_no_csr"] = str(error).splitlines()[0][:100]
        return times


def measured(o, p, core):
    with tempfile.TemporaryDirectory() as folder:
        line = {"id": p["id"], "problem": p}
        line["auto"], line["way"] = automatic(o, p, core, folder)
        line["best"], line["point"], line["tried"], schedule = best_found(o, p, core, folder)
        if schedule:
            line["searched"] = line["best"]
            line["auto"], line["best"] = in_turns(o, p, core, schedule)
            line["best"] = min(line["best"], line["auto"])
        if not o.no_torch:
            text = call([sys.executable, os.path.abspath(__file__), "--of-torch", json.dumps(p)], core, 60)
            line["torch"] = json.loads(text) if text.strip() else {}
        return line


def ratio(of, over):
    return of / over if of and over and math.isfinite(over) else None


def cell(number, form):
    return format(number, form) if number else "-"


def print_table(lines):
    of = {"best / auto": lambda l: ratio(l["best"], l["auto"]),
          "dense / auto": lambda l: ratio(l.get("torch", {}).get("dense"), l["auto"]),
          "csr / auto": lambda l: ratio(l.get("torch", {}).get("csr"), l["auto"])}
    print("id | auto us | best us | torch dense us | torch csr us | " + " | ".join(of) + " | auto's way | best point")
    for line in sorted(lines, key=lambda l: l["id"]):
        torch = line.get("torch", {})
        print(" | ".join([str(line["id"])] + [cell(x, ".1f") for x in (line["auto"], line["best"], torch.get("dense"),
                                                                     torch.get("csr"))]
                         + [cell(ratio_of(line), ".2f") for ratio_of in of.values()] + [line["way"], line["point"]]))
    for name, ratio_of in of.items():
        found = [(ratio_of(l), l["id"]) for l in lines if ratio_of(l)]
        if found:
            mean = math.exp(sum(math.log(r) for r, _ in found) / len(found))
            low = " ".join(str(i) for r, i in sorted(found) if r < 0.8)
            print(f"{name}: {mean:.3f} in the geometric mean of {len(found)}, least {min(found)[0]:.2f} at {min(found)[1]}; "
                  f"below 0.8: {low or 'none'}")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--of-torch":
        print(json.dumps(of_torch(json.loads(sys.argv[2]))))
        return
    o = arguments()
    if not o.no_torch and subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode != 0:
        print("no times of PyTorch: there is no module torch", file=sys.stderr)
        o.no_torch = True
    only = set(o.only.split(",")) if o.only else None
    work, lines, lock, begin = queue.Queue(), [], threading.Lock(), time.time()
    for p in json.load(open(o.suite))["problems"]:
        if only is None or str(p["id"]) in only:
            work.put(p)

    def take_turns(core):
        while time.time() - begin < o.seconds:
            try:
                p = work.get_nowait()
            except queue.Empty:
                return
            line = measured(o, p, core)
            with lock, open(o.out, "a") as file:
                lines.append(line)
                file.write(json.dumps(line) + "\n")
                print(f"{p['id']} after {time.time() - begin:.0f} s", file=sys.stderr, flush=True)

    threads = [threading.Thread(target=take_turns, args=(core,)) for core in o.cores.split(",")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print_table(lines)
    if not work.empty():
        print(f"{work.qsize()} problems were left out after {o.seconds:.0f} s")


if __name__ == "__main__":
    main()
