// The outcome of a search for version control: a small file with the fastest schedule and what it was
// measured on, which `weft compile` and `weft run` take.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/formats/weight_matrix.h>
#include <weft/scheduler/program/schedule.h>
#include <weft/search/records/records.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// What the file says.
struct BestKernel {
  Record record;
  std::string format;       ///< that of the weights that the steps apply to: "csr", "shfl_bw:V=64,k=32"
  std::vector<Step> steps;  ///< steps of the schedule
};

/// One JSON document, an item a line, the same for the same kernel.
std::string json_of_best(const Record& record, const Schedule& schedule);
/// True when a text is to be such a file, an object, and not a bare list of steps.
bool is_best_file(std::string_view json);
/// UserError, naming `origin` and the place in it, when it is none or of another version.
BestKernel best_kernel_of(std::string_view json, const std::string& origin, CallPlace place = {});

/// UserError where `best` was tuned for a matrix of another size or pattern: asked before weights are packed
/// in its format, which others may not have.
/// `columns` are those of the dense operand, told beside the others where they differ too.
void require_weights(const BestKernel& best, const std::string& origin, const WeightMatrix& matrix,
                     std::int64_t dense_columns);

/// What a tuned schedule is to be used for.
struct BestUse {
  const Algorithm& algorithm;  ///< what it leaves open is not compared
  const WeightMatrix& matrix;
  const Format& format;
  std::int64_t columns = 0;  ///< columns of the equivalent dense product
  const Target& target;
};
/// UserError that says what `best`, of the file `origin`, was tuned for, where that is another operation,
/// size, element type, format, pattern of weights or architecture.
void require_fits(const BestKernel& best, const std::string& origin, const BestUse& use);

}  // namespace weft
