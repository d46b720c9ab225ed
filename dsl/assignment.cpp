#include <weft/dsl/assignment.h>

#include <algorithm>

namespace weft::detail {
namespace {

/// Numbers the tensors and the scalars, and finds the sum.
class Build {
 public:
  Build(std::string name, const Assignment& assignment) : assignment_(assignment) {
    algorithm_.name = std::move(name);
  }

  Algorithm run() {
    find_tensors(assignment_.right());
    tensors_.push_back(assignment_.output().operand);
    for (const auto& tensor : tensors_) algorithm_.operands.push_back(*tensor);
    algorithm_.output = access(assignment_.output());
    algorithm_.result = term(assignment_.right());
    algorithm_.accumulator = accumulator_of(algorithm_.operands[algorithm_.factors.at(0).operand].dtype);
    make_indices();
    algorithm_.check();
    return std::move(algorithm_);
  }

 private:
  /// In the order in which they are written, without the output.
  void find_tensors(const Node& node) {
    for (const AccessValue& access : node.accesses) {
      const bool known = std::ranges::find(tensors_, access.operand) != tensors_.end();
      if (!known && access.operand != assignment_.output().operand) tensors_.push_back(access.operand);
    }
    for (const Node& argument : node.arguments) find_tensors(argument);
  }

  TensorAccess access(const AccessValue& value) const {
    const auto place = std::ranges::find(tensors_, value.operand);
    return {static_cast<std::size_t>(place - tensors_.begin()), value.indices};
  }

  Term term(const Node& node) {
    Term term;
    term.kind = node.kind;
    term.number = node.number;
    term.scalar = node.scalar;
    if (node.kind == Term::Kind::access) term.access = access(node.accesses.at(0));
    if (node.kind == Term::Kind::sum) {
      for (const AccessValue& factor : node.accesses) algorithm_.factors.push_back(access(factor));
      reductions_ = node.reductions;
    }
    if (node.kind == Term::Kind::scalar &&
        std::ranges::find(algorithm_.scalars, node.scalar) == algorithm_.scalars.end())
      algorithm_.scalars.push_back(node.scalar);
    for (const Node& argument : node.arguments) term.arguments.push_back(this->term(argument));
    return term;
  }

  void make_indices() {
    for (const AffineIndex& index : algorithm_.output.indices)
      algorithm_.indices.push_back({*index.plain(), extent_of(*index.plain()), false});
    for (const std::string& name : reductions_) algorithm_.indices.push_back({name, extent_of(name), true});
  }

  /// The size of the first dimension that is indexed with the index alone. check() compares the others with
  /// it.
  Extent extent_of(const std::string& name) const {
    for (const TensorAccess& factor : algorithm_.factors) {
      if (const Extent* extent = extent_in(factor, name)) return *extent;
    }
    const Extent* extent = extent_in(algorithm_.output, name);
    return extent == nullptr ? Extent() : *extent;
  }

  const Extent* extent_in(const TensorAccess& access, const std::string& name) const {
    for (std::size_t i = 0; i < access.indices.size(); ++i) {
      const std::string* plain = access.indices[i].plain();
      if (plain != nullptr && *plain == name) return &algorithm_.operands[access.operand].shape[i];
    }
    return nullptr;
  }

  const Assignment& assignment_;
  Algorithm algorithm_;
  std::vector<std::shared_ptr<const Operand>> tensors_;
  std::vector<std::string> reductions_;
};

}  // namespace

Algorithm build(std::string name, const Assignment& assignment, const SourcePlace& place) {
  return user_call(place, [&] { return Build(std::move(name), assignment).run(); });
}

}  // namespace weft::detail
