#!/usr/bin/env python3
"""python/weft_trace.py: what it writes of models, and what it refuses.

    trace_test.py

The checks run with a torch that computes nothing (fake_torch), and then, with further ones, with the real torch where
there is one. Each is printed; ends with 1 where one fails.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import traceback

HERE = pathlib.Path(__file__).resolve().parent


def run(which):
    failures, count = 0, 0
    for function in trace_support.CHECKS:
        note, count = None, count + 1
        try:
            with tempfile.TemporaryDirectory(prefix="weft_trace_") as folder:
                note = function(pathlib.Path(folder))
        except Exception as error:
            failures += 1
            note = f"FAILED: {type(error).__name__}: {error}\n{traceback.format_exc()}"
        print(f"{which} torch: {function.__name__.replace('_', ' ')}" + (f": {note}" if note else ""), flush=True)
    print(f"{which} torch: {count} checks, {failures} failed", flush=True)
    return 1 if failures else 0


def run_with(which, path):
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, __file__, which], env=environment, check=False).returncode


if __name__ == "__main__":
    if sys.argv[1:] in (["fake"], ["real"]):
        sys.path.insert(0, str(HERE.parent.parent / "python"))
        import trace_support
        import trace_checks  # noqa: F401: what it has is listed in the support
        if sys.argv[1] == "real":
            import torch
            import trace_real_checks  # noqa: F401
            print(f"real torch: {torch.__version__}")
        sys.exit(run(sys.argv[1]))
    codes = [run_with("fake", str(HERE / "fake_torch"))]
    missing = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, text=True, check=False)
    if missing.returncode:
        print(f"real torch: left out, {missing.stderr.strip().splitlines()[-1]}")
    else:
        codes.append(run_with("real", os.environ.get("PYTHONPATH", "")))
    print("all passed" if not any(codes) else "FAILED")
    sys.exit(1 if any(codes) else 0)
