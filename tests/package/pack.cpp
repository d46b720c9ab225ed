// Reads a pruned weight from a file, packs it, and compares what comes back; needs weft::formats only.
#include <weft/formats/format.h>
#include <weft/formats/io/read.h>
#include <weft/formats/sparse_tensor.h>

#include <fstream>
#include <iostream>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const std::string file = std::string(arguments[1]) + "/weight.mtx";
  std::ofstream(file) << "%%MatrixMarket matrix coordinate real general\n3 4 3\n1 2 5.0\n3 1 -2.0\n3 4 0.5\n";

  const weft::SparseTensor packed = weft::pack(weft::read(file), weft::formats::csr());
  const weft::Array dense = packed.to_dense();
  const double expected[12] = {0, 5, 0, 0, 0, 0, 0, 0, -2, 0, 0, 0.5};
  for (std::int64_t i = 0; i < 12; ++i) {
    if (dense.get(i) != expected[i]) {
      std::cerr << "element " << i << ": " << dense.get(i) << " instead of " << expected[i] << "\n";
      return 1;
    }
  }
  std::cout << "packed " << packed.format().text() << ", " << packed.bytes() << " bytes\n";
}
