// The products of the study of the predictor (product_study.cpp).
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
  std::string recipe = "shfl_bw";  ///< or v_n_m: weights that keep two of four columns
};

/// What the weights of a case are pruned for: shfl_bw with its V, n_m, v_n_m with V and M.
Format format_of_weights(const SuiteCase& chosen);

/// M, K and N in powers of two and between, densities of 0.05 to 0.5, V of 32, 64 and 128, or for v_n_m 2:4
/// and V:2:8, V:2:16 and V:2:32; several widths for each matrix, so that matrices can be left out. Layers of
/// the suite likewise: every width of matrices by chance. In any order, so that the first ones are a sample
/// of all. Errors as read_suite.
std::vector<SuiteCase> study_cases(const StudyCases& options);

}  // namespace weft
