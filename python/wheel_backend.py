"""Makes the wheel of weft: the command, linked statically, and the Python module. What pip calls, as PEP 517 has it.

    pip wheel .                                   # builds in build/portable, which the next call goes on with
    WEFT_BUILD_FOLDER=FOLDER pip wheel .          # builds there, whatever it is configured for
    WEFT_COMMAND=FILE pip wheel .                 # takes that command as it is, and builds nothing

WEFT_JOBS is how many compilers run at once. Needs cmake and what cmake/packages.txt lists, and readelf of binutils.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODULES = {"weft/__init__.py": "python/weft/__init__.py", "weft/trace.py": "python/weft_trace.py"}
# As readelf has them, and as tags do.
MACHINES = {"Advanced Micro Devices X86-64": "x86_64", "AArch64": "aarch64"}
# What every Linux with glibc has. The others that PEP 600 lets a wheel ask for are linked statically here.
OF_GLIBC = re.compile(r"(lib(c|m|dl|rt|pthread|util|resolv)|ld-linux.*)\.so\.\d+")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _take_no_settings(config_settings)
    command = _command()
    tag = f"py3-none-{_platform_of(command)}"
    info, data = f"weft-{_version()}.dist-info", f"weft-{_version()}.data"
    files = {place: (ROOT / source).read_bytes() for place, source in MODULES.items()}
    files[f"{data}/scripts/weft"] = command.read_bytes()
    files.update({f"{info}/{name}": content for name, content in _metadata().items()})
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: weft\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    record = [f"{place},sha256={_hash_of(content)},{len(content)}\n" for place, content in files.items()]
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    name = f"weft-{_version()}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for place, content in files.items():
            entry = zipfile.ZipInfo(place)  # with no time of its own, so that equal files give equal wheels
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o100755 if "/scripts/" in place else 0o100644) << 16
            wheel.writestr(entry, content)
    return name


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    _take_no_settings(config_settings)
    folder = pathlib.Path(metadata_directory) / f"weft-{_version()}.dist-info"
    for name, content in _metadata().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder.name


def build_sdist(sdist_directory, config_settings=None):
    _stop("there is no source distribution of weft: pip wheel . in its repository makes the wheel")


def _metadata():
    """Files of the folder .dist-info that need no command."""
    licences = {"LICENSE": ROOT / "LICENSE", **_licences_of_libraries()}
    lines = ["Metadata-Version: 2.4", "Name: weft", f"Version: {_version()}", f"Summary: {_project('DESCRIPTION')}",
             "License-Expression: Apache-2.0 WITH LLVM-exception",
             *(f"License-File: {name}" for name in licences), "Requires-Python: >=3.9"]
    return {"METADATA": "".join(line + "\n" for line in lines).encode(),
            **{f"licenses/{name}": path.read_bytes() for name, path in licences.items()}}


def _licences_of_libraries():
    """Of what the command is linked with, where the distribution's packages are installed."""
    product = (ROOT / "cmake/packages.txt").read_text().split("\n[product]\n")[1].split("\n[")[0]
    found = {name: pathlib.Path("/usr/share/doc", name, "copyright") for name in re.findall(r"^(\S+-dev)\t", product, re.M)}
    return {f"libraries/{name}": path for name, path in found.items() if path.is_file()}


def _version():
    return _project("VERSION")


def _project(field):
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(rf'project\(weft [^)]*\b{field} ("?)(.*?)\1[ )]', text)[2]


def _command():
    given = os.environ.get("WEFT_COMMAND")
    if given:
        if not (ROOT / given).is_file():
            _stop(f"WEFT_COMMAND is {given}, where no file is: the command weft is accepted")
        return ROOT / given
    folder = ROOT / (os.environ.get("WEFT_BUILD_FOLDER") or "build/portable")
    if not (folder / "CMakeCache.txt").exists():
        _run("cmake", "--preset", "portable", "-B", str(folder))
    _run("cmake", "--build", str(folder), "--target", "weft_command", "--parallel", _jobs())
    return folder / "weft"


def _jobs():
    """A compiler takes up to 1.3 GB."""
    fit = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_300_000_000
    return os.environ.get("WEFT_JOBS") or str(max(1, min(fit, os.cpu_count() or 1)))


def _run(*command):
    if shutil.which(command[0]) is None:
        _stop(f"there is no {command[0]}: cmake/packages.txt lists what a build needs")
    if subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode:
        _stop(f"{' '.join(command)} failed; its own message stands above")


def _platform_of(command):
    """By the tag of the wheel pip knows where the command starts: manylinux_2_36_x86_64 asks for glibc 2.36 or later."""
    if shutil.which("readelf") is None:
        _stop("there is no readelf, which says what the command needs: install binutils")
    done = subprocess.run(["readelf", "--wide", "--file-header", "--dynamic", "--version-info", str(command)],
                          capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    machine = re.search(r"Machine: +(.*)", done.stdout)
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", done.stdout)
    versions = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", done.stdout)
    if done.returncode or not machine or machine[1] not in MACHINES or not versions:
        _stop(f"{command} is not a program for Linux with glibc on {' or '.join(MACHINES.values())}")
    others = [library for library in libraries if not OF_GLIBC.fullmatch(library)]
    if others:
        print(f"weft: {command} needs {', '.join(others)}, so the wheel is for machines like this one", file=sys.stderr)
        return f"linux_{MACHINES[machine[1]]}"
    major, minor = max((int(major), int(minor)) for major, minor in versions)
    return f"manylinux_{major}_{minor}_{MACHINES[machine[1]]}"


def _take_no_settings(settings):
    if settings:
        _stop(f"there is no setting {', '.join(settings)}: WEFT_BUILD_FOLDER, WEFT_COMMAND and WEFT_JOBS are taken from "
              "the environment")


def _hash_of(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _stop(sentence):
    sys.exit(f"weft: {sentence}")
