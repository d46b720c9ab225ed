// The places of a program about which there is something to prove, and what is known where they stand.
#pragma once

#include <weft/formats/sparse_tensor.h>
#include <weft/scheduler/ir/program.h>
#include <weft/scheduler/limits/proofs.h>
#include <weft/scheduler/program/level_facts.h>

#include <map>
#include <string>
#include <vector>

namespace weft::proofs {

/// What holds where a statement stands: conditions of loops, of branches, and values of names.
struct Path {
  std::vector<ir::Expr> conditions;
  std::vector<ir::For> loops;                               ///< without their bodies, outermost first
  std::vector<std::pair<std::string, ir::Expr>> lets = {};  ///< also among the conditions
};

/// `goal` is to hold where `path` does.
struct InsideClaim {
  Path path;
  ir::Expr goal;
  std::string text;
};

/// A store into global memory that replaces what is there.
struct StorePlace {
  Path path;
  ir::BufferRef buffer;
  std::vector<ir::Expr> indices;
  std::string text;
};

struct Places {
  std::vector<InsideClaim> inside;
  std::vector<StorePlace> stores;
  bool complete = true;  ///< false: there are more than are looked at
};

/// Tensor operations are the nests that they mean. Copies read nothing outside of their source by what they
/// are; of a gather, the numbers that choose rows are claims.
Places places_of(const ir::Program& program);

/// What is known of the weights, and that sizes are there.
WeightFacts facts_of(const Algorithm& algorithm, const SparseTensor* weights, const ir::Program& program);

/// The name of the function that says where in a permutation a number stands.
std::string inverse_of(const std::string& buffer);

/// Values of loop variables at which the store may be expected to write the element `target`, in terms of the
/// target's variables. A guess, to be checked.
std::map<std::string, ir::Expr> iteration_of(const StorePlace& store, const std::vector<ir::Expr>& target,
                                             const WeightFacts& facts);

/// Decides claims; the work of Z3, where there is one.
class Prover {
 public:
  explicit Prover(const WeightFacts& facts) : facts_(facts) {}
  Proof inside(const InsideClaim& claim) const;
  /// That the two stores, which may be the same one, write no element in two iterations.
  Proof apart(const StorePlace& one, const StorePlace& other) const;
  /// That one of the stores writes every element of the buffer that all of them write.
  Proof whole(const std::vector<const StorePlace*>& stores) const;

 private:
  const WeightFacts& facts_;
};

}  // namespace weft::proofs
