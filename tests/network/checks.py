"""What the tests of networks in Python share: counted checks, the first of which that fails ends the test, and a file of
weights to begin with."""
import json
import struct
import sys

done = 0


def check(holds, what):
    global done
    done += 1
    if not holds:
        print("FAILED:", what)
        sys.exit(1)
    print("ok:", what, flush=True)


def write_safetensors(path, arrays):
    """Arrays of numpy, in f32."""
    header, offset = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(array.tobytes() for array in arrays.values()))
