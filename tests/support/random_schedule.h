// Random problems and random schedules, by seed.
#pragma once

#include <weft/backends/arguments.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/program/schedule.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace weft::test {

/// A small problem of odd shape: an algorithm, its weights in some format, its arguments.
struct RandomProblem {
  Algorithm algorithm;
  WeightMatrix matrix;  ///< the weights before they were packed
  std::shared_ptr<const SparseTensor> weights;
  std::map<std::string, Array> tensors;
  std::map<std::string, double> scalars;

  Arguments arguments();
  std::string text() const;
};

RandomProblem random_problem(std::mt19937_64& random);

/// What became of the steps that were tried.
struct RandomSteps {
  int applied = 0;
  int refused = 0;
  std::vector<std::string> silent;  ///< refusals that lacked what was found or what would be accepted
};

/// Tries `count` random steps, legal or not, on the schedule.
RandomSteps apply_random_steps(Schedule& schedule, int count, std::mt19937_64& random);

}  // namespace weft::test
