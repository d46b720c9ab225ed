#!/usr/bin/env python3
"""Kills `weft model tune` and `weft model export` at random moments, runs them again, and compares the packages.

    kill_moments.py WEFT [--moments 100] [--seed 1] [--archs sm_90a,x86-64-v3]

Half of the moments are in the search, half in the export. Times come from the model, so that a search which was
killed and goes on has the same trials as one that was not: the packages have to be the same byte for byte. Prints a
line for each that is not, and ends with 1 where there is one.
"""
import argparse
import hashlib
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

SHAPES = ((128, 192), (192, 128), (96, 128), (64, 96))


def write_layer(path, rows, columns, seed):
    """A .npy of float32, nine tenths of it zeros."""
    draw = random.Random(seed)
    values = [draw.gauss(0, 1) if draw.random() < 0.1 else 0.0 for _ in range(rows * columns)]
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()
                     + struct.pack(f"<{len(values)}f", *values))


def hash_of(folder):
    digest = hashlib.sha256()
    for path in sorted(one for one in folder.rglob("*") if one.is_file()):
        digest.update(str(path.relative_to(folder)).encode() + b"\0")
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Run:
    """One folder with a network in it."""

    def __init__(self, weft, archs, folder):
        self.folder = folder
        (folder / "net").mkdir(parents=True)
        for i, (rows, columns) in enumerate(SHAPES):
            write_layer(folder / "net" / f"layer{i}.npy", rows, columns, i)
        self.tune = [weft, "model", "tune", "net", "--n", "64", "--measure", "model", "--target", "sm_90a", "--trials",
                     "12", "--budget", "10m", "--db", "trials.jsonl", "--progress", "none"]
        self.export = [weft, "model", "export", "net", "--n", "64", "--db", "trials.jsonl", "--archs", archs, "--all",
                       "-o", "pkg"]

    def finish(self, command):
        """Its seconds. The search ends with 6 where dense is faster everywhere."""
        begin = time.perf_counter()
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode not in (0, 6):
            raise SystemExit(f"{' '.join(command)} ends with {done.returncode}: {done.stderr}")
        return time.perf_counter() - begin

    def kill(self, command, seconds):
        """Whether it was still running."""
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        running = process.poll() is None
        process.kill()
        process.wait()
        return running

    def package(self):
        return hash_of(self.folder / "pkg")

    def trials(self):
        return sum(1 for _ in open(self.folder / "trials.jsonl", encoding="utf-8"))

    def forget(self, *names):
        for name in names:
            path = self.folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def main():
    parser = argparse.ArgumentParser(description="Kills a search and an export at random moments.")
    parser.add_argument("weft", type=lambda text: str(pathlib.Path(text).resolve()))
    parser.add_argument("--moments", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--archs", default="sm_90a,x86-64-v3")
    options = parser.parse_args()
    draw = random.Random(options.seed)
    wrong = killed = 0
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options.weft, options.archs, pathlib.Path(folder))
        seconds = {"tune": run.finish(run.tune), "export": run.finish(run.export)}
        expected, trials = run.package(), run.trials()
        for moment in range(options.moments):
            verb = "tune" if moment < options.moments // 2 else "export"
            if verb == "tune":
                run.forget("trials.jsonl")
            run.forget("pkg")
            at = draw.uniform(0, seconds[verb])
            killed += run.kill(run.tune if verb == "tune" else run.export, at)
            if verb == "tune":
                run.finish(run.tune)
            run.finish(run.export)
            same = run.package() == expected and run.trials() == trials
            wrong += not same
            if not same:
                print(f"{verb} killed after {at:.3f} s: the package is another one, or {run.trials()} trials are not "
                      f"{trials}", flush=True)
    print(f"{options.moments} moments, {killed} before the end (search {seconds['tune']:.2f} s, export "
          f"{seconds['export']:.2f} s): {wrong} packages differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
