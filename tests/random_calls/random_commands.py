#!/usr/bin/env python3
"""Random legal and illegal command lines for every verb of weft, by seed.

    random_commands.py WEFT [--seed 1] [--seconds 60] [--only SEED] [--known FILE]

Each has to end within half a minute, by itself, with one of the documented codes, without words that no
user can use; what --json prints has to be JSON. Ends with 1 where one does not, unless a line of FILE, a
regular expression, knows it.
"""
import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CODES = {0, 1, 2, 3, 4, 5, 130}
FOREIGN = ["internal error", "json.exception", "std::", "map::at", "what():", "basic_string", "terminate called",
           "Traceback", "bad_alloc", "vector::", "AddressSanitizer", "runtime error:"]
LIMIT = 30

WILD_NUMBERS = ["0", "-1", "1", "2147483647", "2147483648", "4294967296", "4611686018427387904",
                "9223372036854775807", "9223372036854775808", "1e999", "nan", "inf", "-inf", "0x10", "1.5", "", " 3", "3 "]
WILD_WORDS = ["", " ", "nosuch", "A.values", "*/ evil", "a\nb", "%s%n", "{}", "{0}", "null", "é", "../x", "--",
              "-", "=", "a=b", ":", ",", "x" * 5000, "sum", "errno", "NULL", "1:", ":1", "\x01", "\x7f"]
FORMATS = ["auto", "csr", "csc", "coo", "ell", "dense", "padded_csr", "sliced_ell", "bitmap", "csr:order=dealt,rows=8", "bcsr:b=4",
           "bcsr:b=7", "blocked_ell:b=8", "hb_ell", "hb_ell:every=8", "hb_ell:pairs=1", "vector_wise:V=8", "shfl_bw:V=64",
           "shfl_bw:V=0", "n_m", "v_n_m:V=16,M=16", "v_n_m:M=3", "column_quads", "lane_streams",
           "pair_words:columns=65", "csr:b=4", "nosuch", "csr:", ":", "csr:order=x"]
RECIPES = ["default", "sparsert", "sparsert:form=baked", "sparsert:form=streaming,rows=4", "sparsert:form=pieces",
           "sparsert:rows=-1", "shfl_bw", "shfl_bw:tile_n=64,stages=2", "shfl_bw:stages=99", "v_n_m",
           "lane_streams:turns=2", "hb_ell",
           "hb_ell:tile_n=64", "nosuch", "sparsert:nosuch=1", "sparsert:form=", "default:x=1"]
TARGETS = ["cpu", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120", "90a", "sm_99", "", "sm_80,sm_90", "sm_80,sm_80"]
DEVICES = ["cpu", "cuda", "cuda:0", "cuda:99", "sim:sm_80", "sim:sm_90a", "sim:sm_75", "sim:cpu", "sim:", "nosuch", "cuda:-1"]


class Files:
    """Files to read, some damaged, and places to write to, some impossible."""

    def __init__(self, weft, folder, chance):
        self.folder, self.chance = folder, chance
        self.weights, self.others = [], []
        os.makedirs(folder, exist_ok=True)
        base = os.path.join(folder, "base")
        os.makedirs(base, exist_ok=True)

        def make(*words):
            subprocess.run([weft, *words], cwd=base, capture_output=True, timeout=120, check=False)

        with open(os.path.join(base, "small.smtx"), "w") as out:
            out.write("4, 6, 5\n0 1 2 4 5\n0 3 1 5 2\n")
        with open(os.path.join(base, "small.mtx"), "w") as out:
            out.write("%%MatrixMarket matrix coordinate real general\n3 4 3\n1 1 2\n2 3 -1\n3 4 1.5\n")
        make("prune", "small.mtx", "--format", "csr", "--sparsity", "0.1", "-o", "w.safetensors")
        make("run", "--op", "spmm", "--weights", "made:M=16,K=12,sparsity=0.5", "--n", "9", "--out", "c.npy")
        problem = ["--op", "spmm", "--weights", "made:M=32,K=32,sparsity=0.8", "--n", "16"]
        make("tune", *problem, "--target", "sm_90", "--measure", "model", "--trials", "3", "--db", "t.jsonl", "-o", "best.json")
        make("tune", *problem, "--measure", "cpu", "--trials", "2", "--db", "cpu.jsonl", "-o", "cpu_best.json")
        make("compile", *problem, "--target", "cpu", "--out", "kernels")
        make("train", "--db", "t.jsonl", "-o", "tree.json")
        make("tune", *problem, "--target", "sm_90", "--trials", "2", "--plan", "plan", "--db", "p.jsonl")
        with open(os.path.join(base, "suite.json"), "w") as out:
            json.dump({"name": "s", "dtype": "f32", "problems": [{"name": "p", "m": 16, "k": 16, "n": 16}],
                       "sparsity": [0.5]}, out)
        self.all = []
        for path, _, names in os.walk(base):
            self.all += [os.path.join(path, name) for name in names]
        self.all.sort()

    def any(self, ending=None):
        """A file of that kind or another, as it is or damaged."""
        c = self.chance
        fitting = [f for f in self.all if ending and f.endswith(ending)]
        path = c.choice(fitting if fitting and c.random() < 0.8 else self.all)
        if c.random() < 0.1:
            return c.choice(["", "nosuch", "/", self.folder, "/dev/null", "/proc/self/mem", "/dev/full", "nosuch.npy", "x" * 300])
        if c.random() < 0.5:
            return path
        with open(path, "rb") as source:
            data = bytearray(source.read()[:200000])
        for _ in range(c.randint(1, 3)):
            self.damage(data)
        copy = os.path.join(self.folder, "damaged_" + os.path.basename(path))
        with open(copy, "wb") as out:
            out.write(data)
        return copy

    def damage(self, data):
        c = self.chance
        if not data:
            data += b"{}"
            return
        at = c.randrange(len(data))
        kind = c.randrange(6)
        if kind == 0:
            data[at] = c.randrange(256)
        elif kind == 1:
            del data[at:at + c.randint(1, 20)]
        elif kind == 2:
            data[at:at] = c.choice(WILD_WORDS[:20]).encode()
        elif kind == 3:
            del data[at:]
        else:
            number = re.compile(rb"\d+").search(data, at)
            if number:
                data[number.start():number.end()] = c.choice(WILD_NUMBERS).encode()

    def target(self):
        c = self.chance
        if c.random() < 0.2:
            return c.choice(["/dev/full", "/proc/x", "/proc/nosuch/x", self.folder, "", os.path.join(self.folder, "base", "w.safetensors", "x"), "/dev/null/x"])
        return os.path.join(self.folder, "out%d" % c.randrange(4))


def options_of(weft):
    """Of every verb and part of a verb its options: name and whether it takes a value."""
    found = {}

    def ask(words):
        text = subprocess.run([weft, *words, "--help"], capture_output=True, text=True, timeout=60, check=False).stdout
        # Two options may share a line; what takes a value says "=" and its default, or a word.
        options = [(option.group(1), option.group(2) is not None)
                   for option in re.finditer(r"(?:^|  )(?:-\w,)?(--[\w-]+)(=| [A-Z0-9])?", text, re.M)
                   if option.group(1) not in ("--help", "--version")]
        found[tuple(words)] = options
        parts = re.search(r"^Verbs\n((?:  .*\n?)+)", text, re.M)
        if parts:
            for line in parts.group(1).splitlines():
                name = re.match(r"^  (\w[\w-]*)", line)
                if name:
                    ask([*words, name.group(1)])

    ask([])
    return found


class Commands:
    def __init__(self, weft, folder):
        self.weft, self.folder = weft, folder
        self.options = options_of(weft)
        self.verbs = sorted(verb for verb in self.options if verb and not any(
            other[:len(verb)] == verb and len(other) > len(verb) for other in self.options))
        self.chance = random.Random(0)
        self.files = Files(weft, folder, self.chance)

    def value(self, name):
        c = self.chance
        if c.random() < 0.03:
            return c.choice(WILD_WORDS)
        if c.random() < 0.03:
            return c.choice(WILD_NUMBERS)
        # What fits often, so that most of a line is right.
        usual = {"--op": "spmm", "--n": str(c.randint(1, 70)), "--format": "csr", "--recipe": "default", "--dtype": "f32",
                 "--target": "sm_90", "--archs": "sm_90", "--device": c.choice(["cpu", "sim:sm_80"]), "--measure": "model",
                 "--name": "ffn", "--emitter": "llvm"}
        if name in usual and c.random() < 0.55:
            return usual[name]
        size = lambda most: str(c.randint(1, most))
        made = "made:M=%s,K=%s,sparsity=%s" % (size(70), size(70), c.choice(["0.5", "0.9", "0", "1", "2", "nan"]))
        if c.random() < 0.2:
            made += ",V=" + c.choice(["8", "16", "64", "0", "7"])
        values = {
            "--op": lambda: c.choice(["spmm", "spmm", "linear", "spmv", "conv2d", "nosuch"]),
            "--weights": lambda: made if c.random() < 0.7 else self.files.any(c.choice([".smtx", ".mtx", ".npy", ".safetensors"])),
            "--n": lambda: c.choice([size(70), size(70), "1:64", "8:64:8,1:64", "64:1", "0", "1:0"]),
            "--dtype": lambda: c.choice(["f32", "f16", "bf16", "f64", "i32", "f8"]),
            "--format": lambda: c.choice(FORMATS),
            "--recipe": lambda: c.choice(RECIPES),
            "--recipes": lambda: c.choice(["default", "sparsert", "default,sparsert", "nosuch", ""]),
            "--target": lambda: c.choice(TARGETS),
            "--archs": lambda: c.choice(TARGETS[1:]),
            "--device": lambda: c.choice(DEVICES),
            "--filter": lambda: c.choice(["3x3", "1", "2x1", "0", "x", "3x3x3"]),
            "--image": lambda: c.choice(["8x8", "5", "7x9", "0x1", "999999999x9"]),
            "--measure": lambda: c.choice(["model", "model", "cpu", "sim", "gpu", "nosuch"]),
            "--activation": lambda: c.choice(["none", "relu", "relu6", "gelu", "tanh", "sigmoid", "silu", "elu"]),
            "--layout": lambda: c.choice(["nchw", "nhwc", "chwn", "ncwh"]),
            "--emitter": lambda: c.choice(["llvm", "llvm", "cuda", "gcc"]),
            "--b": lambda: c.choice(["random:7", "ints:3", "zeros", "random:", "ints:x", self.files.any(".npy")]),
            "--c": lambda: c.choice(["random:7", "zeros", self.files.any(".npy")]),
            "--bias": lambda: c.choice(["random:7", "ints:3", self.files.any(".npy")]),
            "--scale": lambda: c.choice(["random:7", self.files.any(".npy")]),
            "--token-scale": lambda: c.choice(["ints:3", self.files.any(".npy")]),
            "--set": lambda: c.choice(["stages=3", "tile_n=64", "tile_n=64,stages=2", "nosuch=1", "stages=", "=", "form=baked"]),
            "--strategy": lambda: c.choice(["ranked", "random", "exhaustive", "feasible", "nosuch"]),
            "--time": lambda: c.choice(["3s", "1s", "0s", "-1s", "1m", "x"]),
            "--to": lambda: c.choice(["t4", "kernel-tuner", "csv", "nosuch"]),
            "--name": lambda: c.choice(["ffn", "layer1", "errno", "NULL", "a b", "int"]),
            "--spdx": lambda: c.choice(["0BSD", "MIT", "*/ evil", "a\nb"]),
            "--emit": lambda: c.choice(["c", "cpp", "py"]),
            "--progress": lambda: c.choice(["auto", "plain", "none", "x"]),
            "--sparsity": lambda: c.choice(["0.5", "0.9", "1", "-1", "0"]),
            "--kernel": lambda: c.choice(["spmm", "conv2d"]), "--status": lambda: c.choice(["correct", "timeout"]),
            "--schedule": lambda: self.files.any(".json"), "--suite": lambda: self.files.any("suite.json"),
            "--tree": lambda: self.files.any("tree.json"), "--predictor": lambda: self.files.any("tree.json"),
            "--absorb": lambda: c.choice([os.path.join(self.folder, "base", "plan"), self.files.any()]),
            "--scores": lambda: self.files.any(".mtx"), "--license": lambda: self.files.any(), "--measured": lambda: self.files.any(".json"),
            "--package": lambda: self.files.any(), "--contestant": lambda: self.folder, "--searched": lambda: self.files.any(".jsonl"),
            "--db": lambda: self.files.any(".jsonl"),
            "--out": self.files.target, "--plan": self.files.target, "--plot": self.files.target,
            "--jobs": lambda: c.choice(["1", "2", "0", "-1"]), "--data": lambda: self.folder,
        }
        if name == "--json":
            return self.files.target()
        return values[name]() if name in values else (size(9) if c.random() < 0.8 else c.choice(WILD_NUMBERS))

    def given(self, name, takes_value):
        words = [name]
        if takes_value:
            words.append(self.value(name))
        if self.chance.random() < 0.04:
            words = words[:1] if takes_value else words + ["1"]
        return words

    def line(self, seed):
        c = self.chance
        c.seed(seed)
        verb = c.choice(self.verbs)
        options = self.options[verb]
        names = dict(options)
        chosen = []

        def put(name, probability=0.95):
            if name in names and c.random() < probability:
                chosen.append(self.given(name, names[name]))

        put("--op")
        put("--weights")
        if chosen and chosen[0][-1] == "conv2d":
            put("--filter"), put("--image")
        elif chosen and chosen[0][-1] in ("spmm", "linear"):
            put("--n")
        for name in ("--db", "--suite", "--tree", "--to"):
            put(name)
        put("--out", 0.7)
        for _ in range(c.choice([0, 0, 1, 1, 2, 2, 4])):
            if options:
                name, takes_value = c.choice(options)
                chosen.append(self.given(name, takes_value))
        if c.random() < 0.03:
            chosen.append([c.choice(["--nosuch", "-x", "--", "extra", "--weigths"])])
        if c.random() < 0.04 and chosen:
            chosen.append(c.choice(chosen))
        if verb[0] == "tune":  # a search is as long as it is asked to be
            chosen = [w for w in chosen if w[0] not in ("--trials", "--time")] + [["--trials", "2"], ["--time", "4s"]]
        if verb[0] in ("tune", "bench") and c.random() < 0.9:
            chosen = [w for w in chosen if w[0] not in ("--rounds", "--copies")]
        c.shuffle(chosen)
        words = list(verb) + [word for group in chosen for word in group]
        if verb[0] == "inspect" or verb[0] == "prune":
            words.insert(c.randint(1, 2), self.files.any(c.choice([".smtx", ".mtx", ".npy", ".safetensors"])))
        elif verb[0] == "db":
            words.insert(2, self.files.any(".jsonl"))
        elif verb[0] == "replay":
            words.insert(1, self.files.any(".jsonl") + c.choice([":2", ":2", ":1", ":", ":99", ":x", ""]))
        elif verb[0] == "measure":
            words.insert(1, c.choice([os.path.join(self.folder, "base", "plan"), self.files.any()]))
        elif verb[0] == "demo" and c.random() < 0.6:
            words.insert(1, self.files.any(".smtx"))
        return [word.replace("\0", "") for word in words]

    def run(self, words):
        """The end, what was written, and what is wrong with both."""
        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))
        begin = time.monotonic()
        process = subprocess.Popen([self.weft, *words], cwd=os.path.join(self.folder, "work"), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits, start_new_session=True)
        try:
            out, errors = process.communicate(timeout=2 * LIMIT)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, errors = process.communicate()
            return None, "it takes longer than a minute", out, errors
        code = process.returncode
        texts = (out + errors).decode("utf-8", "replace")
        trouble = None
        if code < 0:
            trouble = "signal %d" % -code
        elif code not in CODES:
            trouble = "it ends with %d" % code
        elif time.monotonic() - begin > LIMIT:
            trouble = "it takes longer than half a minute"
        elif code not in (0, 4) and not errors.strip() and not out.strip():
            trouble = "it ends with %d and says nothing" % code
        else:
            # What the user wrote may be quoted.
            quoted = " ".join(words)
            for word in FOREIGN:
                if word in texts and word not in quoted:
                    line = next(l for l in texts.splitlines() if word in l)
                    trouble = "it says %s: %s" % (word, line[:300])
                    break
        flags = dict(self.options[self.verb_of(words)])
        # After an option that lacks its value it is that value.
        is_asked = "--json" in words and not flags.get(words[words.index("--json") - 1])
        if trouble is None and code == 0 and is_asked and flags.get("--json") is False:
            try:
                json.loads(out)
            except ValueError:
                try:
                    for line in out.decode().splitlines():
                        json.loads(line)
                except ValueError as error:
                    trouble = "its --json is none: %s" % error
        return code, trouble, out, errors

    def verb_of(self, words):
        return tuple(words[:2]) if tuple(words[:2]) in self.options else tuple(words[:1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("weft")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--only", type=int)
    parser.add_argument("--known")
    given = parser.parse_args()
    known = []
    if given.known:
        with open(given.known) as lines:
            known = [re.compile(l.rstrip("\n")) for l in lines if l.strip() and not l.startswith("#")]
    folder = tempfile.mkdtemp(prefix="weft_random_commands_")
    os.makedirs(os.path.join(folder, "work"))
    try:
        commands = Commands(os.path.abspath(given.weft), folder)
        ends, kinds, troubles = {}, {}, 0
        begin, told, count = time.monotonic(), 0, 0
        seed = given.seed if given.only is None else given.only
        while True:
            words = commands.line(seed)
            code, trouble, out, errors = commands.run(words)
            count += 1
            ends[code] = ends.get(code, 0) + 1
            if given.only is not None:
                print(words, code, trouble)
                sys.stdout.write(out.decode("utf-8", "replace") + errors.decode("utf-8", "replace"))
                return 1 if trouble else 0
            if trouble:
                text = "%s: %s" % (words[0], trouble)
                kind = re.sub(r"\d+", "#", re.sub(r'"[^"]*"', '"…"', text.replace(folder, "")))[:160]
                is_known = any(k.search(text) for k in known)
                first = kind not in kinds
                kinds.setdefault(kind, [0, seed, is_known])[0] += 1
                troubles += not is_known
                if (first or kinds[kind][0] == 2) and not is_known:
                    print("\nTROUBLE at seed %d: %s\n  weft %s\n%s" % (
                        seed, trouble, " ".join(repr(w)[:200] for w in words), errors.decode("utf-8", "replace")[-1500:]), flush=True)
            shutil.rmtree(os.path.join(folder, "work"), ignore_errors=True)
            os.makedirs(os.path.join(folder, "work"), exist_ok=True)
            seed += 1
            passed = time.monotonic() - begin
            if passed > given.seconds:
                break
            if passed - told > 60:
                told = passed
                print("seed %d: %d command lines, ends %s, %d in trouble, %d s" % (
                    seed, count, sorted(ends.items(), key=str), troubles, passed), flush=True)
        print("\n%d command lines in %d s; ends: %s; %d in trouble" % (
            count, passed, ", ".join("%s: %d" % e for e in sorted(ends.items(), key=str)), troubles))
        for kind, (number, first, is_known) in sorted(kinds.items(), key=lambda k: -k[1][0]):
            print("  %d%s, first seed %d: %s" % (number, " known" if is_known else "", first, kind))
        return 1 if troubles else 0
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
