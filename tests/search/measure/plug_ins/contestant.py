"""A contestant in Python for the processor, through the library of examples/13_contestant/triton."""

import ctypes

name = "python"
version = "of a test"


def takes(problem):
    if problem["convolution"] is not None:
        return f"no filters of {problem['convolution']['filter']}"
    if problem["element"] != "f32":
        raise TypeError("no " + problem["element"])
    return {"y_features_last": True}


def prepare(problem, operands):
    rows, columns, inner = problem["rows"], problem["columns"], problem["inner"]
    row_begin = list(operands["row_begin"].cast("q"))
    column, values = list(operands["column"].cast("i")), list(operands["values"].cast("f"))
    x = (ctypes.c_float * (inner * columns)).from_address(operands["x"])
    y = (ctypes.c_float * (columns * rows)).from_address(operands["y"])

    def launch(stream):
        assert stream == 0
        for m in range(rows):
            entries = range(row_begin[m], row_begin[m + 1])
            for n in range(columns):
                y[n * rows + m] = sum(values[i] * x[column[i] * columns + n] for i in entries)

    return launch
