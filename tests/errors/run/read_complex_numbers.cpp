// expect: elements of type "<c8"
// expect: as array.astype("f4") makes them
// fix:   write_npy(path, Array(DType::f32, {2, 2}));
// fix:   read(path);
#include <weft/backends/runtime/process.h>
#include <weft/formats/io/npy.h>
#include <weft/formats/io/read.h>

#include "illegal_program.h"

using namespace weft;

WEFT_ILLEGAL_PROGRAM(read_complex_numbers) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "w.npy").string();
  std::string header = "{'descr': '<c8', 'fortran_order': False, 'shape': (2, 2), }";
  header.resize(117, ' ');
  write_bytes(path, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + std::string(32, '\0'));
  read(path);  // here
}
