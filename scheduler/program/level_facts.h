// What a format's check has made sure of, as facts about the arrays that programs read.
#pragma once

#include <weft/dsl/algorithm.h>
#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/program.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// Of the array that says where the places of each block begin: element i + rows * width[i] is within the
/// places, and within those that have a number of their own where the width is not `extent`.
struct BucketFact {
  std::string width;  ///< a buffer
  ir::Expr blocks;
  ir::Expr rows, extent, numbered;
};

/// What the format promises of one of its arrays, about the element `index`.
struct ArrayFact {
  ir::Expr count;                      ///< its elements
  ir::Expr least, most;                ///< bounds of every element
  bool increases = false;              ///< element i + 1 is not below element i
  bool is_permutation = false;         ///< no two elements that are not negative are equal …
  std::optional<ir::Expr> whole = {};  ///< … and every number below this one is among them
  std::optional<BucketFact> buckets = {};
};

/// What is known of the weights: facts by the name of a buffer, and conditions about sizes.
struct WeightFacts {
  std::map<std::string, ArrayFact> arrays;
  std::vector<ir::Expr> conditions;
};

/// Goes through the levels of weights and asks their kinds.
class LevelFacts {
 public:
  LevelFacts(const Algorithm& algorithm, const SparseTensor& weights, const ir::Program& program);
  WeightFacts take();

  // ---- for the kinds of levels ----

  const SparseTensor& weights() const { return weights_; }
  const Level& level(std::size_t number) const { return weights_.levels()[number]; }
  std::string buffer(const std::string& array) const;
  /// A number that follows from the weights; a name where these are given at launch.
  ir::Expr number(const std::string& name, std::int64_t known) const;
  void require(ir::Expr condition) { facts_.conditions.push_back(std::move(condition)); }
  /// Of weights that are given at launch, the entries of an array are a variable.
  void require_entries(const std::string& array, const ir::Expr& count);
  ArrayFact& add(const std::string& array, const ir::Expr& count, const ir::Expr& least,
                 const ir::Expr& most);
  ArrayFact& array(const std::string& name) { return facts_.arrays.at(buffer(name)); }
  /// The offsets of so many parents; answers with where they end.
  ir::Expr add_offsets(std::size_t number, const ir::Expr& parents, bool increase);
  /// Children of a position of a counted level.
  ir::Expr extent(std::size_t number);

 private:
  void add_coordinates(const Level& level, const ir::Expr& count, const ir::Expr& extent);

  const Algorithm& algorithm_;
  const SparseTensor& weights_;
  const ir::Program& program_;
  bool any_;
  std::map<Dimension, ir::Expr> left_;  ///< extents that coordinates of the next level stay below
  WeightFacts facts_;
};

}  // namespace weft
