// Figure 5 of Wu et al., "Generic, Sparse Tensor Core for Neural Networks": C = A B + C on the simulated V100
// with the sparse tensor core, by Algorithm 1.
#pragma once

#include <weft/search/measure/real_weights.h>
#include <weft/search/measure/suite.h>
#include <weft/search/report/chart.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The device of suites with densities.
inline constexpr const char* device_of_simulated_suites = "sim:sm_70_swmma";

/// One kernel in the simulator.
struct SimulatedTime {
  double clocks = 0;        ///< without the launch; the median over the orders of the warps
  std::string bound;        ///< what takes the time
  std::int64_t blocks = 0;  ///< blocks of 16 x 16, or pieces of them, that are stored
  std::string wrong;        ///< how the result differs from the reference; empty: it does not
};

/// One problem at one density.
struct SimulatedBlocks {
  SuiteCase chosen;
  std::string source;     ///< where the weights are from: their file, or "made"
  double density = 0;     ///< as found
  SimulatedTime uniform;  ///< one ELL width for the whole matrix, in pieces of PW = 4, as Zhu et al. have it
  SimulatedTime hybrid;   ///< HB-ELL
  SimulatedTime dense;    ///< a matrix without zeros, by the dense instruction

  bool right() const { return uniform.wrong.empty() && hybrid.wrong.empty() && dense.wrong.empty(); }
};

/// Weights from `real` where it has the shape and the sparsity, else as many entries as the density says, at
/// random places. Which warp asks a cache first depends on the order in which warps are simulated; problems
/// of up to 2^24 products are simulated in so many `orders`, which large ones average out by themselves.
SimulatedBlocks simulate_blocks(const SuiteCase& chosen, const RealWeights& real, int orders);

/// Clocks over M = N of the problems with K = 16, a line for each density and storage.
report::Chart chart_of(const std::vector<SimulatedBlocks>& results);
/// One JSON object in one line, without its end.
std::string json_line(const SimulatedBlocks& result, const std::string& suite);

}  // namespace weft
