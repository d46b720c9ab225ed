#!/usr/bin/env python3
"""Writes a small seed for every fuzz target: make_seeds.py FOLDER makes FOLDER/<reader>/<name>."""
import io
import json
import pathlib
import struct
import sys
import zipfile


def npy(descr, shape, data, fortran=False, version=1):
    text = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (descr, fortran, shape)
    width = 2 if version == 1 else 4
    text += " " * (63 - (8 + width + len(text)) % 64) + "\n"
    return b"\x93NUMPY" + bytes([version, 0]) + len(text).to_bytes(width, "little") + text.encode() + data


def archive(members, method):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return target.getvalue()


def safetensors(tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def scipy_member(name, kind, first, second, data):
    return bytes([name, kind, first, second, len(data)]) + data


def seeds():
    yield "smtx", "plain", b"2, 4, 3\n0 2 3 \n0 3 1 \n"
    yield "smtx", "empty", b"2, 4, 0\n0 0 0\n"
    banner = "%%MatrixMarket matrix "
    for kind, text in {
        "general": "coordinate real general\n% note\n\n2 3 2\n1 1 1.5\n2 3 -2e3\n",
        "symmetric": "coordinate integer symmetric\n2 2 2\n1 1 3\n2 1 4\n",
        "skew": "coordinate real skew-symmetric\n2 2 1\n2 1 4\n",
        "pattern": "coordinate pattern general\n2 2 1\n2 1\n",
        "array": "array real general\n2 2\n1\n0\n0\n4\n",
        "array_symmetric": "array integer symmetric\n2 2\n1\n2\n3\n",
        "array_skew": "array real skew-symmetric\n2 2\n1\n",
    }.items():
        yield "mtx", kind, (banner + text).encode()
    floats = struct.pack("<6f", 1, 0, 2, 0, 0, -3)
    yield "npy", "f4", npy("<f4", "(2, 3)", floats)
    yield "npy", "fortran", npy("<f4", "(2, 3)", floats, True, 2)
    yield "npy", "big_endian", npy(">f8", "(1,)", struct.pack(">d", 2.5), version=3)
    yield "npy", "raw", npy("|V2", "(2, 1)", b"\x80\x3f\x00\x00")
    yield "npy", "boolean", npy("|b1", "(3,)", b"\0\1\1")
    yield "npy", "string", npy("|S3", "()", b"csr")
    csr = {
        "format.npy": npy("|S3", "()", b"csr"), "shape.npy": npy("<i8", "(2,)", struct.pack("<2q", 2, 3)),
        "data.npy": npy("<f4", "(2,)", struct.pack("<2f", 1, 2)),
        "indices.npy": npy("<i4", "(2,)", struct.pack("<2i", 0, 2)),
        "indptr.npy": npy("<i4", "(3,)", struct.pack("<3i", 0, 1, 2)),
    }
    for name, method in {"stored": zipfile.ZIP_STORED, "deflated": zipfile.ZIP_DEFLATED}.items():
        yield "npz", "dense_" + name, archive({"w.npy": npy("<f4", "(2, 3)", floats)}, method)
        yield "npz", "csr_" + name, archive(csr, method)
    yield "npz", "torch", archive({"model/data.pkl": b"\x80\x02."}, zipfile.ZIP_STORED)
    shape = scipy_member(1, 1, 2, 0, struct.pack("<2q", 2, 4))
    values = scipy_member(2, 0, 3, 0, struct.pack("<3f", 1, 2, 3))
    indices = scipy_member(3, 2, 3, 0, struct.pack("<3i", 0, 3, 1))
    indptr = scipy_member(4, 2, 3, 0, struct.pack("<3i", 0, 2, 3))
    yield "scipy_sparse", "csr", scipy_member(0, 0, 0, 0, b"") + shape + values + indices + indptr
    yield "scipy_sparse", "csc", (scipy_member(0, 1, 0, 0, b"") + shape + values
                                  + scipy_member(3, 2, 3, 0, struct.pack("<3i", 0, 1, 1))
                                  + scipy_member(4, 2, 5, 0, struct.pack("<5i", 0, 1, 2, 3, 3)))
    yield "scipy_sparse", "bsr", (scipy_member(0, 2, 0, 0, b"") + shape
                                  + scipy_member(2, 4, 1, 130, bytes(range(4)))
                                  + scipy_member(3, 2, 1, 0, struct.pack("<i", 1))
                                  + scipy_member(4, 2, 2, 0, struct.pack("<2i", 0, 1)))
    rows = struct.pack("<3i", 1, 0, 1)
    columns = struct.pack("<3i", 3, 0, 3)
    yield "scipy_sparse", "coo", (scipy_member(0, 3, 0, 0, b"") + shape + values
                                  + scipy_member(5, 2, 3, 0, rows) + scipy_member(6, 2, 3, 0, columns))
    yield "scipy_sparse", "coords", (scipy_member(0, 3, 0, 0, b"") + shape + values
                                     + scipy_member(7, 2, 2, 3, rows + columns))
    yield "scipy_sparse", "dia", (scipy_member(0, 4, 0, 0, b"") + shape + scipy_member(2, 4, 2, 4, bytes(range(8)))
                                  + scipy_member(8, 1, 2, 0, struct.pack("<2q", -1, 1)))
    half = struct.pack("<4H", 0x3C00, 0, 0xBC00, 0)
    yield "safetensors", "dense", safetensors({"a.weight": ("F16", [2, 2], half), "b": ("I64", [1], bytes(8))})
    yield "safetensors", "bitmask", safetensors({
        "p.compressed": ("F16", [2], half[:4]), "p.bitmask": ("U8", [2, 1], b"\5\0"),
        "p.shape": ("I64", [2], struct.pack("<2q", 2, 3)), "p.row_offsets": ("I64", [2], struct.pack("<2q", 0, 2))})
    yield "safetensors", "two_of_four", safetensors({
        "p.compressed": ("BF16", [1, 2], half[:4]), "p.bitmask": ("U8", [1, 1], b"\5"),
        "p.shape": ("I64", [2, 1], struct.pack("<2q", 1, 4))})
    yield "safetensors", "masked", safetensors({
        "w_orig": ("F16", [2, 2], half), "w_mask": ("BOOL", [2, 2], b"\1\1\0\1")})
    yield "safetensors", "csr_parts", safetensors({
        "w.crow_indices": ("I64", [3], struct.pack("<3q", 0, 1, 2)), "w.values": ("F16", [2], half[:4]),
        "w.col_indices": ("I32", [2], struct.pack("<2i", 2, 0)), "w.shape": ("I64", [2], struct.pack("<2q", 2, 3))})
    yield "safetensors", "empty", safetensors({"e": ("F32", [0, 4], b"")})
    yield "compressed_tensors", "bitmask", b"\0\2\3\5\0\0\2" + half[:4]
    yield "compressed_tensors", "two_of_four", b"\3\1\10\x5a" + half
    yield "safetensors", "semi_structured", safetensors({
        "w.packed": ("F16", [32, 32], half * 256), "w.meta": ("I16", [32, 4], b"\xee" * 256)})
    yield "semi_structured", "halves", b"\0\1\2" + b"\x4e\x9d" * 128 + half * 64
    yield "semi_structured", "bytes", b"\1\1\1" + b"\x48\xc9\xd4\xee" * 32 + bytes(range(64))
    yield "safetensors_index", "plain", json.dumps(
        {"metadata": {"total_size": 8, "more": [1, {"a": None}]}, "weight_map": {"a": "one.safetensors"}}).encode()
    forms = (pathlib.Path(__file__).parent / "../backends/simulator/ptx/forms.ptx").read_bytes()
    yield "ptx", "forms", forms
    head = b".version 8.0\n.target sm_80\n.address_size 64\n"
    yield "ptx", "empty", head
    yield "ptx", "kernel", head + (b".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\n"
                                   b"L: st.global.u64 [%rd1+8], %rd1;\nbra L;\n}\n")


def main():
    folder = pathlib.Path(sys.argv[1])
    for reader, name, content in seeds():
        (folder / reader).mkdir(parents=True, exist_ok=True)
        (folder / reader / name).write_bytes(content)


main()
