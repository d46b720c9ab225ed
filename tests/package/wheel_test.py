#!/usr/bin/env python3
"""The wheel that python/wheel_backend.py makes, and the Python module in it.

    wheel_test.py VERSION

Small programs stand for the command, for cmake and for readelf; PyTorch is the one of tests/network/fake_torch.
"""
import base64
import csv
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "python"))
import wheel_backend  # noqa: E402: found beside this test

checks = 0


def check(holds, what):
    global checks
    checks += 1
    if not holds:
        sys.exit(f"FAILED: {what}")
    print("ok:", what)


def refused(words, function, *arguments, **named):
    """With a sentence that has the words."""
    try:
        function(*arguments, **named)
    except (SystemExit, Exception) as error:
        check(all(word in str(error) for word in words), f"refused: {error}")
    else:
        check(False, f"{function.__name__} refuses what should name {words}")


def program(path, *lines):
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)


def readelf(folder, machine, libraries, versions):
    """A readelf that says this of every file."""
    lines = [f"  Machine:                           {machine}"]
    lines += [f" 0x0000000000000001 (NEEDED)             Shared library: [{library}]" for library in libraries]
    lines += [f"  0x0010:   Name: {version}  Flags: none  Version: 4" for version in versions]
    program(folder / "readelf", "cat <<'TEXT'", *lines, "TEXT")


def layout(wheel, version):
    info = f"weft-{version}.dist-info"
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        content = {name: opened.read(name) for name in names}
        modes = {one.filename: one.external_attr >> 16 for one in opened.infolist()}
    check(len(names) == len(set(names)), "every file stands once in the wheel")
    modules = [name for name in names if not name.startswith((f"{info}/", f"weft-{version}.data/"))]
    check(modules == ["weft/__init__.py", "weft/trace.py"], "the module is weft, with trace")
    check(content["weft/trace.py"] == (ROOT / "python/weft_trace.py").read_bytes(), "weft.trace is weft_trace.py")
    script = f"weft-{version}.data/scripts/weft"
    check(content[script].startswith(b"#!/bin/sh") and modes[script] == 0o100755, "the command is a program of the wheel")
    check(all(mode == 0o100644 for name, mode in modes.items() if name != script), "and nothing else is one")
    rows = list(csv.reader(content[f"{info}/RECORD"].decode().splitlines()))
    check(sorted(row[0] for row in rows) == sorted(names), "RECORD names every file")
    for name, digest, size in rows:
        if name == f"{info}/RECORD":
            check((digest, size) == ("", ""), "RECORD has no hash of itself")
            continue
        expected = base64.urlsafe_b64encode(hashlib.sha256(content[name]).digest()).decode().rstrip("=")
        check((digest, size) == (f"sha256={expected}", str(len(content[name]))), f"RECORD has hash and size of {name}")
    metadata = content[f"{info}/METADATA"].decode().splitlines()
    for line in ("Name: weft", f"Version: {version}", "Requires-Python: >=3.9", "License-File: LICENSE"):
        check(line in metadata, f"METADATA has {line}")
    files = [line.removeprefix("License-File: ") for line in metadata if line.startswith("License-File: ")]
    check(all(f"{info}/licenses/{file}" in names for file in files), f"the {len(files)} licences are there")
    check(not any(line.startswith("Requires-Dist") for line in metadata), "no other package is needed")
    tag = pathlib.Path(wheel).stem.split("-", 2)[2]
    check(f"Tag: {tag}" in content[f"{info}/WHEEL"].decode().splitlines(), "WHEEL has the tag of the name")


def tags(folder, command):
    os.environ["WEFT_COMMAND"] = str(command)
    glibc, x86 = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"], "Advanced Micro Devices X86-64"
    for machine, libraries, versions, tag in (
            (x86, glibc, ["GLIBC_2.4", "GLIBC_2.36", "GLIBC_2.14", "GLIBC_ABI_DT_RELR"], "manylinux_2_36_x86_64"),
            ("AArch64", ["libc.so.6", "ld-linux-aarch64.so.1"], ["GLIBC_2.17"], "manylinux_2_17_aarch64"),
            (x86, ["libLLVM.so.19.1", *glibc], ["GLIBC_2.36"], "linux_x86_64"),
            (x86, ["libstdc++.so.6", *glibc], ["GLIBC_2.36", "GLIBCXX_3.4.30"], "linux_x86_64")):
        readelf(folder / "bin", machine, libraries, versions)
        name = wheel_backend.build_wheel(folder)
        check(name.split("-", 2)[2] == f"py3-none-{tag}.whl", f"{tag}: {', '.join(libraries)}")
    readelf(folder / "bin", "RISC-V", glibc, ["GLIBC_2.36"])
    refused(["weft is not a program", "x86_64 or aarch64"], wheel_backend.build_wheel, folder)
    readelf(folder / "bin", x86, [], [])
    refused(["is not a program for Linux with glibc"], wheel_backend.build_wheel, folder)
    os.environ["WEFT_COMMAND"] = str(folder / "nosuch")
    refused(["WEFT_COMMAND", "nosuch"], wheel_backend.build_wheel, folder)
    refused(["no setting jobs"], wheel_backend.build_wheel, folder, {"jobs": "2"})
    refused(["no source distribution"], wheel_backend.build_sdist, folder)


def tag_of_a_program(folder):
    """What the real readelf says of this Python."""
    os.environ["WEFT_COMMAND"] = os.path.realpath(sys.executable)
    (folder / "bin/readelf").unlink()
    if shutil.which("readelf") is None:
        return print("left out: there is no readelf")
    name = wheel_backend.build_wheel(folder)
    here = [int(one) for one in os.confstr("CS_GNU_LIBC_VERSION").split()[1].split(".")]
    found = re.search(r"-py3-none-(?:many)?linux(?:_(\d+)_(\d+))?_(?:x86_64|aarch64)\.whl$", name)
    check(found and [int(one or 0) for one in found.groups()] <= here, f"as Python: {name}, here with glibc {here}")


def builds(folder, command):
    """Which calls of cmake there are."""
    del os.environ["WEFT_COMMAND"]
    readelf(folder / "bin", "AArch64", ["libc.so.6"], ["GLIBC_2.17"])
    calls = folder / "calls"
    program(folder / "bin/cmake", f"echo \"$*\" >>'{calls}'", "[ \"$1\" = --preset ] && mkdir -p \"$4\" && exit 0",
            f"cp '{command}' \"$2/weft\"")
    os.environ.update(WEFT_BUILD_FOLDER=str(folder / "build"), WEFT_JOBS="3")
    wheel_backend.build_wheel(folder)
    build = f"--build {folder}/build --target weft_command --parallel 3"
    check(calls.read_text().splitlines() == [f"--preset portable -B {folder}/build", build], "a new folder is configured")
    calls.unlink()
    (folder / "build/CMakeCache.txt").write_text("")
    wheel_backend.build_wheel(folder)
    check(calls.read_text().splitlines() == [build], "a folder that is configured is only built")
    program(folder / "bin/cmake", "exit 1")
    refused(["cmake --build", "failed"], wheel_backend.build_wheel, folder)


def package(folder, name):
    """As much of a package of a network as weft.load() looks at."""
    (folder / name).mkdir(parents=True)
    (folder / "layers.json").write_text(json.dumps({"name": name, "layers": []}))
    (folder / name / "__init__.py").write_text(
        f"def apply(model, threads=1, example=None):\n    return '{folder.name}', model, threads, example\n")


def python(wheel, path, folder, text):
    """In a Python that finds the wheel and the path, and no packages of its own."""
    head = f"import json, pathlib, sys\nsys.path[:0] = {[str(wheel), *map(str, path)]!r}\nfolder = pathlib.Path({str(folder)!r})\n"
    done = subprocess.run([sys.executable, "-I", "-S", "-B", "-c", head + textwrap.dedent(text)], capture_output=True,
                          text=True, check=False)
    check(done.returncode == 0, f"Python with the wheel{' and ' + path[0].name if path else ''} {done.stderr}")
    return done.stdout.splitlines()


def module(folder, wheel):
    said = python(wheel, [], folder, """
        import weft
        assert "torch" not in sys.modules
        for wrong in (lambda: weft.trace, lambda: weft.nosuch):
            try:
                wrong()
            except (ImportError, AttributeError) as error:
                print(error)""")
    check(said == ["No module named 'torch'", "module 'weft' has no attribute 'nosuch'"], "weft needs PyTorch for trace alone")
    said = python(wheel, [ROOT / "tests/network/fake_torch"], folder, """
        import torch, weft
        weft.trace.save(torch.nn.Linear(4, 2), torch.zeros(3, 4), folder / "saved")
        print(json.loads((folder / "saved/network.json").read_text())["layers"][0]["n"], weft.__version__)""")
    check(said == [f"3 {sys.argv[1]}"], "weft.trace.save saves, and weft.__version__ is the wheel's")
    for name, of in (("first", "net"), ("second", "net"), ("third", "json"), ("no_module", "other")):
        package(folder / name, of)
    (folder / "no_module/other/__init__.py").unlink()
    package(folder / "fails", "fails_at_first")
    (folder / "fails/fails_at_first/__init__.py").write_text("raise ValueError('not built')\n")
    (folder / "no_table").mkdir()
    (folder / "no_table/layers.json").write_text("[]")
    said = python(wheel, [], folder, """
        import weft
        print(weft.apply(folder / "first", "model", threads=2), weft.apply(str(folder / "first"), "model", example=3))
        import net
        print(net is weft.load(folder / "third/../first"))
        for wrong in ("second", "third", "no_module", "no_table", "nosuch", "fails"):
            try:
                weft.load(folder / wrong)
            except (weft.PackageError, ValueError) as error:
                print(error)
        print("fails_at_first" in sys.modules)""")
    check(said[:2] == ["('first', 'model', 2, None) ('first', 'model', 1, 3)", "True"], "a package is loaded once, and applied")
    for line, words in zip(said[2:], (["second has a package net", "first/net/__init__.py", "--name"], ["a package json"],
                                      ["no file other/__init__.py"], ["no_table is no package", "layers.json"],
                                      ["nosuch is no package", "weft model export"], ["not built"], ["False"])):
        check(all(word in line for word in words), f"refused: {line}")
    check(len(said) == 9, "each of these is refused")


def main():
    version = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="weft_wheel_") as made:
        folder = pathlib.Path(made).resolve()
        (folder / "bin").mkdir()
        command = folder / "weft"
        program(command, "echo weft")
        os.environ["PATH"] = f"{folder}/bin{os.pathsep}{os.environ['PATH']}"
        tags(folder, command)
        wheel = folder / f"weft-{version}-py3-none-manylinux_2_36_x86_64.whl"
        check(wheel.exists(), f"the version is that of CMake, {version}")
        layout(wheel, version)
        info = wheel_backend.prepare_metadata_for_build_wheel(folder)
        with zipfile.ZipFile(wheel) as opened:
            check((folder / info / "METADATA").read_bytes() == opened.read(f"{info}/METADATA"), "METADATA alone is the same")
        tag_of_a_program(folder)
        builds(folder, command)
        module(folder, wheel)
    print(f"{checks} checks passed")


main()
