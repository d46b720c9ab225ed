// What is tuned: a problem with its operands, and what its records say of it.
#pragma once

#include <weft/backends/reference.h>
#include <weft/backends/runtime/device.h>
#include <weft/formats/weight_matrix.h>
#include <weft/scheduler/recipes/parts/problem_summary.h>
#include <weft/search/measure/checker.h>
#include <weft/search/records/records.h>
#include <weft/search/spaces/space.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

namespace weft {

/// An algorithm, its weights, and everything that a launch needs.
struct TrialProblem {
  std::string kernel = "spmm";  ///< the operation's name, for records
  SpaceProblem what;
  std::map<std::string, Array> tensors;  ///< those of every dense operand, the output too
  std::map<std::string, double> scalars;
  std::int64_t columns = 0;                     ///< columns of the equivalent dense product
  std::map<std::string, std::string> source;    ///< the flags that make it again
  std::optional<Convolution> convolution = {};  ///< what the algorithm is before what follows its sum
  /// Groups of its channels: weights of other groups are no entries of the matrix, and a library has less to
  /// do.
  std::int64_t image_groups = 1;

  /// Borrows `tensors`.
  Arguments arguments();
  const Operand& output() const;
  ProblemSummary summary() const;
  /// A plain product as the contestants of a measurement compute it; nothing for other algorithms.
  std::optional<Workload> workload() const;
  /// Whether the output of a product is C[n, m], where a workload's is [m, n].
  bool has_output_across() const;
  /// The product alone, without what follows the sum: what a library computes of a linear layer at least.
  /// Nothing for algorithms that are no product of two matrices, C[m, n] = f(sum of A[m, k] B[k, n]), as they
  /// lie in memory.
  std::optional<Workload> product() const;
  /// The convolution alone, with nchw images. Nothing for other problems.
  std::optional<Workload> images() const;
};

/// What all trials of a problem have in common: problem, pattern, target, toolchain, source.
Record record_for(const TrialProblem& problem, const Target& target, const std::string& measure,
                  const DeviceDescription* device);

/// Says that the weights are packed in the format, also to whoever makes the problem again by its flags.
void set_format(Record& record, const Format& format);

/// The hash of where entries stand, not of their values.
std::string hash_of_pattern(const WeightMatrix& matrix);

class ProductSample;

/// Compares outputs of one problem with the f64 reference: of plain products that are large a sample of rows,
/// and the whole with a result that is trusted (checker.h); of those with something behind their sum a row
/// and a column of every few (product_sample.h), and that all others were written.
class OutputCheck {
 public:
  OutputCheck(TrialProblem& problem, double budget);
  ~OutputCheck();
  OutputCheck(const OutputCheck&) = delete;
  OutputCheck& operator=(const OutputCheck&) = delete;

  struct Found {
    TrialCheck check;
    std::string reason;  ///< empty when it is right
  };
  Found check(const Array& output) const;
  /// Whether a trusted result would say more than the reference alone.
  bool wants_trusted() const;
  void trust(Array output);
  /// The plain product; null for others.
  const Workload* workload() const { return workload_ ? &*workload_ : nullptr; }
  const Checker* checker() const { return checker_ ? &*checker_ : nullptr; }

 private:
  const TrialProblem* problem_;
  std::optional<Workload> workload_;
  std::optional<Checker> checker_;
  std::optional<Reference> reference_;
  std::shared_ptr<const SparseTensor> weights_;
  std::unique_ptr<ProductSample> sample_;
};

}  // namespace weft
