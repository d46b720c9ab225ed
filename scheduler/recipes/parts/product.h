// What recipes ask of an algorithm.
#pragma once

#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/program/schedule.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// The loop over what is summed, as csr's program calls it: after all its indices.
std::string sum_loop(const Algorithm& algorithm);

/// Loops of a program as its weights' levels make them, outermost first: over rows and blocks of rows, and
/// over what is summed of a row. UserError as require_sum().
struct WeightLoops {
  std::vector<LoopName> rows, sum;
};
WeightLoops weight_loops(const Schedule& schedule);
/// UserError where no place that is summed lies inside of the operands: then no loop is over a sum.
void require_sum(const Schedule& schedule);
/// The same as a reason why a recipe has no points; nothing where there is a sum.
std::string why_no_sum(const Algorithm& algorithm);

/// The loops of a product whose columns several indices may count together, as a convolution's do: C[row, p,
/// q, …] = sum of A[row, …] B[…, p, q, …], where B is not read by row.
struct GatheredProduct {
  std::string rows;
  std::vector<std::string> columns;  ///< in the output's order
  std::string sum;                   ///< over stored places
  std::string dense;                 ///< the operand that the weights are multiplied with
};
/// The loops of an algorithm of that form; an empty name of the rows where it is something else.
GatheredProduct gathered_product(const Algorithm& algorithm);

/// The size of all columns together; no size where a launch says how many, which one loop of columns alone
/// may leave to it.
Extent columns_of(const Algorithm& algorithm, const GatheredProduct& loops);

/// The loops of C[row, column] = sum of A[row, k] B[k, column].
struct ProductLoops {
  std::string rows, columns;
  std::string sum;    ///< over stored places
  std::string dense;  ///< the operand that the weights are multiplied with
};
/// The loops of an algorithm of that form; empty names where it is something else.
ProductLoops product_loops(const Algorithm& algorithm);

/// The extent of the algorithm's index of that name.
Extent extent_of(const Algorithm& algorithm, const std::string& name);

/// The factor that the weights are multiplied with: its place among the operands.
std::size_t dense_operand(const Algorithm& algorithm);

/// The report, with the recipe and its knobs where it says of where.
UserError::Report in_recipe(UserError::Report report, std::string_view recipe, std::string_view given);

/// What a recipe is called and which weights it is for.
struct RecipeNeeds {
  std::string name;
  std::string formats;  ///< "shfl_bw or vector_wise"
  std::string example;  ///< "formats::shfl_bw()"
};

/// What a recipe does, with its steps, in a call of the user's: what they refuse is told with the recipe and
/// the knobs that were given, "tile_n = 64, stages = 2".
template <class Body>
Schedule with_recipe_named(std::string_view recipe, std::string_view given, Body&& body) {
  try {
    return body();
  } catch (const InfeasibleError& error) {
    throw InfeasibleError(in_recipe(error.report(), recipe, given));
  } catch (const UserError& error) {
    throw UserError(in_recipe(error.report(), recipe, given));
  }
}

/// UserError unless there are weights, in one of the formats (`is_one`).
void require_format(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor* weights,
                    bool (*is_one)(const Format& format));
/// Throws that the recipe has no form for what was given.
[[noreturn]] void refuse_recipe(const RecipeNeeds& needs, const Algorithm& algorithm, std::string found,
                                std::string accepted);
/// Whether tensor cores of the target multiply the type, with sums in f32: f16, and bf16 from sm_80 on.
bool has_tensor_cores_for(const Target& target, DType dtype);
/// Whether they multiply i8, from sm_80 on, or e4m3 and e5m2, from sm_89 on: factors that lie along k alone.
bool has_tensor_cores_for_bytes(const Target& target, DType dtype);
/// Why they do not; nothing where they do.
std::string why_no_tensor_cores(const Target& target, DType dtype);

/// The format's parameter; `otherwise` where it is not given.
std::int64_t parameter_of(const Format& format, const char* name, std::int64_t otherwise = 0);

/// UserError for weights of other types than f16 or bf16, which tensor cores multiply.
void require_halves(const RecipeNeeds& needs, const Algorithm& algorithm, const SparseTensor& weights);

/// Knobs that were given to a recipe and that nothing would follow.
class IdleKnobs {
 public:
  /// `where` the knobs have no effect: "the form baked".
  IdleKnobs(std::string algorithm, std::string where)
      : algorithm_(std::move(algorithm)), where_(std::move(where)) {}
  /// UserError unless the value is 0; `accepted` says where the knob has an effect.
  void refuse(std::int64_t value, const char* knob, const char* accepted) const;

 private:
  std::string algorithm_, where_;
};

}  // namespace weft
