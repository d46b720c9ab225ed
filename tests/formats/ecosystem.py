#!/usr/bin/env python3
"""Files written by the real numpy, scipy, safetensors and onnx, read by weft, and the other way round.

ecosystem.py IO_DUMP runs all cases and ends with 1 when one fails. Where a package is missing, its cases are left
out; where numpy is missing, it prints [SKIP] and ends.
"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("[SKIP] no numpy for", sys.executable)
    sys.exit(0)
try:
    import scipy.io
    import scipy.sparse as sparse
except ImportError:
    sparse = None
try:
    import safetensors.numpy as safetensors
except ImportError:
    safetensors = None
try:
    import onnx
except ImportError:
    onnx = None

DUMP = sys.argv[1]
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="weft_ecosystem_"))
NAMES = {"float16": "f16", "float32": "f32", "float64": "f64", "bool": "bool",
         **{f"int{b}": f"i{b}" for b in (8, 16, 32, 64)}, **{f"uint{b}": f"u{b}" for b in (8, 16, 32, 64)}}
failures, cases = [], 0


def dump(*words):
    done = subprocess.run([DUMP, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout) if done.stdout else None


def case(function):
    """Runs a case at once; its name is the function's."""
    def run(*arguments):
        global cases
        cases += 1
        try:
            function(*arguments)
        except Exception as error:
            failures.append(f"{function.__name__}{arguments[:-1]}: {error!r}"[:1500])
    return run


def expect(found, expected, what):
    if found != expected:
        raise AssertionError(f"{what}: {found} instead of {expected}")


def expect_entries(found, dense, stored=None):
    """`dense` has the values; `stored` marks the entries that the file lists, by default all that are not zero."""
    matrix = dense.reshape(1 if dense.ndim == 1 else dense.shape[0], -1)
    row, column = np.nonzero(matrix if stored is None else stored)
    expect(found["shape"], list(dense.shape), "shape")
    expect(found["dtype"], NAMES[dense.dtype.name], "dtype")
    expect(found["row"], row.tolist(), "rows")
    expect(found["column"], column.tolist(), "columns")
    expect(found["values"], matrix[row, column].tolist(), "values")


def example(dtype, shape, seed=0):
    random = np.random.default_rng(seed)
    values = random.integers(1, 100, shape) if np.dtype(dtype).kind in "iub" else random.normal(size=shape)
    return np.where(random.random(shape) < 0.4, values, 0).astype(dtype)


@case
def npy(dtype, shape, order, version):
    path = FOLDER / "a.npy"
    array = np.asarray(example(dtype, shape), order=order).astype(dtype)
    array = np.asfortranarray(array) if order == "F" else np.ascontiguousarray(array)
    with open(path, "wb") as file:
        np.lib.format.write_array(file, array, version=version)
    expect_entries(dump("weights", path), array)
    found = dump("array", path)
    expect(found["values"], array.reshape(-1).tolist(), "values")


@case
def npz(compressed):
    path = FOLDER / "a.npz"
    weight, bias = example("float32", (7, 9)), np.arange(3.0)
    (np.savez_compressed if compressed else np.savez)(path, weight=weight, bias=bias)
    expect_entries(dump("weights", path), weight)
    expect_entries(dump("weights", path, "weight"), weight)
    expect(dump("array", path, "bias")["values"], bias.tolist(), "bias")


@case
def scipy_layout(layout, dtype, wide, compressed, kind):
    path = FOLDER / "s.npz"
    dense = example(dtype, (6, 8), 3)
    matrix = getattr(sparse, f"{layout}_{kind}")(dense)
    if wide:
        for name in ("indices", "indptr", "row", "col", "offsets"):
            if hasattr(matrix, name) and getattr(matrix, name) is not None:
                try:
                    setattr(matrix, name, getattr(matrix, name).astype(np.int64))
                except AttributeError:
                    pass
    sparse.save_npz(path, matrix, compressed=compressed)
    found = dump("weights", path)
    if layout == "bsr":
        pattern = sparse.bsr_matrix((np.ones_like(matrix.data), matrix.indices, matrix.indptr), shape=(6, 8))
        expect_entries(found, matrix.toarray(), pattern.toarray())
    else:
        expect_entries(found, matrix.toarray())


@case
def scipy_unsorted_and_duplicated(layout):
    path = FOLDER / "u.npz"
    data = np.array([1, 2, 4, 8, 16], np.float64)
    if layout == "coo":
        matrix = sparse.coo_matrix((data, ([2, 0, 2, 1, 2], [3, 1, 3, 0, 0])), shape=(3, 4))
    else:
        indices, indptr = [2, 0, 2, 1, 1], [0, 3, 3, 5]
        matrix = getattr(sparse, f"{layout}_matrix")((data, indices, indptr), shape=(3, 3))
    sparse.save_npz(path, matrix)
    expect_entries(dump("weights", path), matrix.toarray())


@case
def scipy_blocks(shape):
    path = FOLDER / "b.npz"
    dense = np.kron(example("float32", (3, 4), 5), np.ones(shape, np.float32))
    sparse.save_npz(path, sparse.bsr_matrix(dense, blocksize=shape))
    expect_entries(dump("weights", path), dense)


@case
def scipy_more_dimensions(shape):
    path = FOLDER / "n.npz"
    dense = example("float32", shape, 6)
    sparse.save_npz(path, sparse.coo_array(dense))
    expect_entries(dump("weights", path), dense)


@case
def mtx(dtype, symmetry, layout, field):
    path = FOLDER / "a.mtx"
    dense = example(dtype, (5, 5), 8)
    if symmetry == "symmetric":
        dense = np.tril(dense) + np.tril(dense, -1).T
    elif symmetry == "skew-symmetric":
        dense = np.tril(dense, -1) - np.tril(dense, -1).T
    scipy.io.mmwrite(path, sparse.coo_matrix(dense) if layout == "coordinate" else dense,
                     symmetry=symmetry, field=field, precision=17)
    found = dump("weights", path)
    expect(found["pattern_only"], field == "pattern", "pattern_only")
    if field == "pattern":
        expect_entries(found, (dense != 0).astype(np.float32))
    else:
        kind = {"f": np.float64, "i": np.int64, "u": np.uint64}[np.dtype(dtype).kind]
        expect_entries(found, dense.astype(kind))


@case
def safetensors_file(dtype, shape):
    path = FOLDER / "a.safetensors"
    weight = example(dtype, shape, 9)
    safetensors.save_file({"w": weight, "b": np.arange(3, dtype=np.float32)}, path, metadata={"format": "np"})
    expect_entries(dump("weights", path, "w"), weight)
    expect(dump("array", path, "b")["values"], [0, 1, 2], "b")


@case
def bfloat16(extension):
    path = FOLDER / ("h" + extension)
    dense = example("float32", (4, 6), 10)
    bits = (dense.view(np.uint32) >> 16).astype(np.uint16)
    if extension == ".npy":
        np.save(path, bits.view("V2"))
    else:
        np.savez(path, w=bits)
    rounded = (bits.astype(np.uint32) << 16).view(np.float32)
    found = dump("weights", path, "" if extension == ".npy" else "w", "bf16")
    expect(found["dtype"], "bf16", "dtype")
    expect_entries({**found, "dtype": "f32"}, rounded)


@case
def written(dtype, shape, extension):
    source, target = FOLDER / "source.npy", FOLDER / ("target" + extension)
    dense = example(dtype, shape, 11)
    np.save(source, dense)
    dump("convert", source, target)
    if extension == ".npy":
        found = np.load(target, allow_pickle=False)
    elif extension == ".safetensors":
        found = safetensors.load_file(target)["weight"]
    else:
        found = scipy.io.mmread(target).toarray()
        dense = dense.reshape(dense.shape[0], -1)
    if extension != ".mtx":
        expect(found.dtype, dense.dtype, "dtype")
    expect(found.shape, dense.shape, "shape")
    if not (found == dense).all():
        raise AssertionError("other values")


@case
def onnx_file(dtype, shape, raw, beside):
    path = FOLDER / "m.onnx"
    dense = example(dtype, shape)
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    weight = onnx.numpy_helper.from_array(dense, "w") if raw else onnx.helper.make_tensor(
        "w", kind, shape, dense.flatten().tolist())
    row, column = np.nonzero(dense.reshape(shape[0], -1))
    place = row * dense[0].size + column
    values = onnx.numpy_helper.from_array(dense.reshape(-1)[place], "s")
    sparse_weight = onnx.helper.make_sparse_tensor(values, onnx.numpy_helper.from_array(place, ""), list(shape))
    graph = onnx.helper.make_graph([], "g", [], [], [weight], sparse_initializer=[sparse_weight])
    onnx.save(onnx.helper.make_model(graph), path, save_as_external_data=beside, location="m.data", size_threshold=0)
    expect_entries(dump("weights", path, "w"), dense)
    expect_entries(dump("weights", path, "s"), dense)


def run_all():
    for dtype in NAMES:
        npy(dtype, (5, 7), "C", (1, 0))
    for dtype in (">f2", ">f4", ">f8", ">i2", ">u4", ">i8"):
        npy(dtype, (5, 7), "F", (1, 0))
    for order in "CF":
        for shape in ((6,), (5, 7), (2, 3, 4), (4, 3, 2, 2)):
            for version in ((1, 0), (2, 0), (3, 0)):
                npy("float32", shape, order, version)
    npz(False)
    npz(True)
    for extension in (".npy", ".npz"):
        bfloat16(extension)
    extensions = [".npy"]
    if sparse is not None:
        extensions.append(".mtx")
        kinds = ["matrix"] + (["array"] if hasattr(sparse, "csr_array") else [])
        for layout in ("csr", "csc", "bsr", "coo", "dia"):
            for kind in kinds:
                for wide in (False, True):
                    scipy_layout(layout, "float32", wide, True, kind)
            scipy_layout(layout, "float64", False, False, "matrix")
            scipy_layout(layout, "int64", False, True, "matrix")
        for layout in ("csr", "csc", "coo"):
            scipy_unsorted_and_duplicated(layout)
        for shape in ((1, 2), (2, 2), (3, 1)):
            scipy_blocks(shape)
        if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15):
            scipy_more_dimensions((3, 4, 5))
            scipy_more_dimensions((9,))
        for layout in ("coordinate", "array"):
            for symmetry in ("general", "symmetric", "skew-symmetric"):
                mtx("float64", symmetry, layout, None)
                mtx("int64", symmetry, layout, None)
        mtx("uint64", "general", "coordinate", None)
        for symmetry in ("general", "symmetric"):
            mtx("float64", symmetry, "coordinate", "pattern")
    if safetensors is not None:
        extensions.append(".safetensors")
        for dtype in NAMES:
            safetensors_file(dtype, (3, 5))
        safetensors_file("float16", (4, 2, 3, 3))
    if onnx is not None:
        for dtype in ("float16", "float32", "float64", "int8", "int64", "uint32"):
            for raw, beside in ((True, False), (False, False), (True, True)):
                onnx_file(dtype, (4, 6), raw, beside)
        onnx_file("float32", (4, 2, 3, 3), True, False)
    for extension in extensions:
        for dtype in NAMES:
            written(dtype, (5, 7), extension)
        written("float32", (4, 2, 3, 3), extension)


try:
    run_all()
finally:
    shutil.rmtree(FOLDER)
for package, found in (("scipy", sparse), ("safetensors", safetensors), ("onnx", onnx)):
    if found is None:
        print("without", package, "(not installed)")
print(f"{cases} cases, {len(failures)} failed")
for failure in failures:
    print("FAILED", failure)
sys.exit(1 if failures else 0)
