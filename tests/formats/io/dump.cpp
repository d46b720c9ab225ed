// What weft reads, as JSON for a program in another language, and what weft writes:
//   io_dump weights FILE [TENSOR [DTYPE]]      the stored entries
//   io_dump array FILE [TENSOR [DTYPE]]        a dense array
//   io_dump convert FILE OUT [TENSOR [DTYPE]]  to .npy, .mtx or .safetensors (as the tensor "weight")
// An error ends it with 1 and its text.
#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>

#include <iostream>
#include <limits>
#include <string>
#include <vector>

namespace weft {
namespace {

template <class Values>
void print_list(const char* name, const Values& values, const char* end) {
  std::cout << '"' << name << "\": [";
  for (std::size_t i = 0; i < values.size(); ++i) std::cout << (i == 0 ? "" : ", ") << values[i];
  std::cout << "]" << end;
}

void print_values(const Array& array) {
  std::cout << "\"dtype\": \"" << name_of(array.dtype()) << "\", \"values\": [";
  for (std::int64_t i = 0; i < array.size(); ++i) {
    std::cout << (i == 0 ? "" : ", ");
    if (is_float(array.dtype())) {
      std::cout << array.get(i);
    } else if (array.dtype() == DType::u64) {
      std::cout << array.as<std::uint64_t>()[static_cast<std::size_t>(i)];
    } else {
      std::cout << array.get_integer(i);
    }
  }
  std::cout << "]}\n";
}

void print_weights(const WeightMatrix& matrix) {
  std::vector<std::int64_t> row;
  for (std::size_t r = 0; r + 1 < matrix.row_begin.size(); ++r) {
    row.insert(row.end(), static_cast<std::size_t>(matrix.row_begin[r + 1] - matrix.row_begin[r]),
               static_cast<std::int64_t>(r));
  }
  std::cout << "{\"pattern_only\": " << (matrix.pattern_only ? "true" : "false") << ", ";
  print_list("shape", matrix.shape, ", ");
  print_list("row", row, ", ");
  print_list("column", matrix.column, ", ");
  print_values(matrix.values);
}

void convert(const WeightMatrix& matrix, const std::string& path) {
  if (path.ends_with(".mtx")) return write_mtx(path, matrix);
  Array dense = to_dense(matrix).reshaped(matrix.shape);
  if (path.ends_with(".npy")) return write_npy(path, dense);
  std::vector<std::pair<std::string, Array>> tensors;
  tensors.emplace_back("weight", std::move(dense));
  write_safetensors(path, tensors, {{"format", "pt"}});
}

int run(std::vector<std::string> arguments) {
  const bool converting = arguments.at(0) == "convert";
  const std::string out = converting ? arguments.at(2) : "";
  if (converting) arguments.erase(arguments.begin() + 2);
  const ReadOptions options{arguments.size() > 2 ? arguments[2] : "",
                            arguments.size() > 3 ? dtype_named(arguments[3]) : std::nullopt};
  std::cout.precision(std::numeric_limits<double>::max_digits10);
  if (arguments[0] == "array") {
    const Array array = read_array(arguments.at(1), options.tensor, options.reinterpret_as);
    std::cout << "{";
    print_list("shape", array.shape(), ", ");
    print_values(array);
    return 0;
  }
  const WeightMatrix matrix = read(arguments.at(1), options);
  matrix.check();
  if (converting) {
    convert(matrix, out);
  } else {
    print_weights(matrix);
  }
  return 0;
}

}  // namespace
}  // namespace weft

int main(int count, char** words) {
  try {
    return weft::run({words + 1, words + count});
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
