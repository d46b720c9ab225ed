// expect: different weights
// expect: kernel 2 (spmm for sm_80)
// expect: a package for each layer
// fix: const PackageKernel large{exportable(Extent::any("N"), "sm_80", layer(1)), 11, 64};
#include "illegal_export.h"
#include "illegal_program.h"

using namespace weft;
using namespace weft::tests;

WEFT_ILLEGAL_PROGRAM(export_of_two_layers) {
  const TemporaryFolder folder;
  const PackageKernel small{exportable(Extent::any("N"), "sm_80", layer(1)), 1, 10};
  const PackageKernel large{exportable(Extent::any("N"), "sm_80", layer(2)), 11, 64};  // there
  export_package(folder.path() / "ffn", {small, large}, named("ffn"));                 // here
}
