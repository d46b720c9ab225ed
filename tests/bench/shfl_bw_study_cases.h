// The products of the study of shfl_bw (shfl_bw_study.cpp).
#pragma once

#include <weft/search/measure/suite.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

struct StudyCases {
  std::size_t drawn = 210;      ///< products of sizes, densities and V by chance
  std::int64_t largest = 4096;  ///< M, K and N of these
  std::string suite;            ///< a file with V, whose layers come beside them; empty: none
  std::size_t of_suite = 60;
  std::uint64_t seed = 1;
};

/// M, K and N in powers of two and between, densities of 0.05 to 0.5, V of 32, 64 and 128; several widths for
/// each matrix, so that matrices can be left out. Layers of the suite likewise: every width of matrices by
/// chance. In any order, so that the first ones are a sample of all. Errors as read_suite.
std::vector<SuiteCase> study_cases(const StudyCases& options);

}  // namespace weft
