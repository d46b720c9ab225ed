#include <weft/dsl/algorithm.h>
#include <weft/dsl/check_parts.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/index.h>
#include <weft/dsl/names.h>
#include <weft/dsl/operation.h>

#include <algorithm>
#include <map>
#include <set>

namespace weft {
namespace {

std::string with_article(const std::string& kind) {
  return (kind == "index" ? "an " : "a ") + kind;
}
std::string quoted(const std::string& name) {
  return "\"" + name + "\"";
}
/// A size beside another, as the user wrote it where both have one name: they differ in what they are
/// multiples of.
std::string beside(const Extent& extent, const Extent& other) {
  if (extent.text() != other.text()) return extent.text();
  const std::string multiple = extent.multiple == 1 ? "" : ", " + std::to_string(extent.multiple);
  return "Extent::any(" + quoted(extent.name) + multiple + ")";
}

/// Checks from the outside in: first that every reference leads somewhere, then what the parts mean together.
class Check {
 public:
  explicit Check(const Algorithm& algorithm) : algorithm_(algorithm) {}

  void run() {
    check_names();
    check_operands();
    check_indices();
    check_accesses();
    check_output();
    check_result();
    check_reductions();
    check_extents();
    check_sparse_operand();
    check_element_types();
    check_numbers(algorithm_, where());
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& found,
                           const std::string& accepted) const {
    throw UserError(what, where(), found, accepted);
  }
  std::string where() const { return "algorithm " + algorithm_.name + ": " + algorithm_.text(); }

  std::string text_of(const TensorAccess& access) const {
    std::string indices;
    for (const AffineIndex& index : access.indices) indices += (indices.empty() ? "" : ", ") + index.text();
    return operand(access).name + "(" + indices + ")";
  }
  const Operand& operand(const TensorAccess& access) const { return algorithm_.operands[access.operand]; }
  bool is_reduction(const std::string& name) const { return variables_.at(name)->reduction; }

  // ---- names ----

  void claim(const std::string& name, const std::string& kind) {
    require_identifier(name, kind, "algorithm " + algorithm_.name);
    const auto [other, fresh] = kind_of_name_.emplace(name, kind);
    if (!fresh)
      refuse("the name " + quoted(name) + " is given twice",
             other->second == kind
                 ? "a name of two " + (kind == "index" ? std::string("indices") : kind + "s")
                 : "a name of " + with_article(other->second) + " and of " + with_article(kind),
             "tensors, indices, scalars and sizes with names of their own");
  }

  void check_names() {
    require_identifier(algorithm_.name, "algorithm", {});
    for (const Operand& operand : algorithm_.operands) claim(operand.name, "tensor");
    for (const IndexVariable& index : algorithm_.indices) claim(index.name, "index");
    for (const std::string& scalar : algorithm_.scalars) claim(scalar, "scalar");
    std::set<std::string> sizes;
    for (const Operand& operand : algorithm_.operands) {
      for (const Extent& extent : operand.shape) {
        if (!extent.is_static() && sizes.insert(extent.name).second) claim(extent.name, "size");
      }
    }
  }

  void check_operands() const {
    const std::size_t output = output_operand();
    for (std::size_t i = 0; i < algorithm_.operands.size(); ++i)
      check_operand(algorithm_.operands[i], i == output, where());
  }

  std::size_t output_operand() const {
    if (algorithm_.output.operand >= algorithm_.operands.size())
      refuse("the output is not one of the tensors",
             "tensor number " + std::to_string(algorithm_.output.operand),
             "a number below " + std::to_string(algorithm_.operands.size()));
    return algorithm_.output.operand;
  }

  // ---- references ----

  void check_indices() {
    bool reductions = false;
    for (const IndexVariable& index : algorithm_.indices) {
      variables_[index.name] = &index;
      if (reductions && !index.reduction)
        refuse("the indices are not in order", "output index " + index.name + " after a reduction index",
               "output indices, then reduction indices");
      reductions = reductions || index.reduction;
    }
    if (!reductions) refuse("nothing is summed over", "no reduction index", "at least one");
  }

  void check_access(const TensorAccess& access) const {
    if (access.operand >= algorithm_.operands.size())
      refuse("an access names no tensor", "tensor number " + std::to_string(access.operand),
             "a number below " + std::to_string(algorithm_.operands.size()));
    const Operand& tensor = operand(access);
    if (access.indices.size() != tensor.shape.size())
      refuse("tensor " + tensor.name + " is indexed with a number of indices that is not its rank",
             std::to_string(access.indices.size()) + " indices", std::to_string(tensor.shape.size()));
    for (const AffineIndex& index : access.indices) {
      std::set<std::string> seen;
      check_size(index.constant, tensor);
      for (const auto& [name, coefficient] : index.terms) {
        check_size(coefficient, tensor);
        if (!variables_.contains(name))
          refuse("tensor " + tensor.name + " is indexed with an index that the algorithm lacks", name,
                 "an index of the output or of the sum");
        if (coefficient == 0 || !seen.insert(name).second)
          refuse("an index of tensor " + tensor.name + " is not in its shortest form", index.text(),
                 "every index once, with a factor that is not 0");
      }
    }
  }

  /// Of a number in an index.
  void check_size(std::int64_t number, const Operand& tensor) const {
    if (number >= -detail::largest_index_number && number <= detail::largest_index_number) return;
    refuse("a number in an index of tensor " + tensor.name + " is too large", "more than 2^48 in size",
           "at most 2^48 = " + std::to_string(detail::largest_index_number));
  }

  void check_accesses() {
    if (algorithm_.factors.size() != 2)
      refuse("the sum is not over a product of two accesses",
             std::to_string(algorithm_.factors.size()) + " factors", "two");
    check_access(algorithm_.output);
    for (const TensorAccess& factor : algorithm_.factors) {
      check_access(factor);
      if (factor.operand == algorithm_.output.operand)
        refuse("the output is a factor of its own sum", operand(factor).name,
               "another tensor; the old output may be read outside of the sum");
    }
  }

  // ---- the parts together ----

  void check_output() const {
    std::vector<std::string> names;
    for (const AffineIndex& index : algorithm_.output.indices) {
      if (index.plain() == nullptr)
        refuse("the output is indexed with more than plain indices", index.text(), "an index");
      names.push_back(*index.plain());
    }
    std::vector<std::string> expected;
    for (const IndexVariable& index : algorithm_.indices) {
      if (!index.reduction) expected.push_back(index.name);
    }
    if (names == expected) return;
    std::set<std::string> seen;
    for (const std::string& name : names) {
      if (!seen.insert(name).second) refuse("an index stands twice in the output", name, "every index once");
      if (is_reduction(name))
        refuse("an index that is summed over stands in the output", name, "indices that are not summed over");
    }
    refuse("the output indices are not those of the output, in its order",
           algorithm_.output.indices.front().text(), "one variable for each index of the output");
  }

  void check_result() {
    check_term(algorithm_.result, 0);
    if (sums_ != 1) refuse("an algorithm has one sum", std::to_string(sums_) + " sums", "one");
  }

  static std::size_t arguments_of(Term::Kind kind) {
    const Operation* operation = operation_of(kind);
    return operation == nullptr ? 0 : operation->arguments;
  }

  void check_term(const Term& term, int depth) {
    if (depth > 256) refuse("the epilogue is nested too deeply", "more than 256 levels", "at most 256");
    if (term.arguments.size() != arguments_of(term.kind))
      refuse("a term has a wrong number of arguments", std::to_string(term.arguments.size()),
             std::to_string(arguments_of(term.kind)));
    if (term.kind > Term::Kind::access && operation_of(term.kind) == nullptr)
      refuse("a term is of an unknown kind", std::to_string(static_cast<int>(term.kind)),
             "a kind of Term::Kind");
    if (term.kind == Term::Kind::multiply) check_factors(term);
    if (term.kind == Term::Kind::divide) check_divisor(term.arguments[1]);
    if (term.kind == Term::Kind::sum) ++sums_;
    if (term.kind == Term::Kind::access) check_epilogue_access(term.access);
    if (term.kind == Term::Kind::scalar &&
        std::ranges::find(algorithm_.scalars, term.scalar) == algorithm_.scalars.end())
      refuse("a scalar is not one of the algorithm's", term.scalar, "a scalar that the algorithm lists");
    for (const Term& argument : term.arguments) check_term(argument, depth + 1);
  }

  static bool has_sum(const Term& term) {
    return term.kind == Term::Kind::sum || std::ranges::any_of(term.arguments, has_sum);
  }

  /// Results that are all zero would be right, and nobody means them.
  void check_factors(const Term& product) const {
    const auto is_zero = [](const Term& term) { return term.kind == Term::Kind::number && term.number == 0; };
    if (std::ranges::any_of(product.arguments, is_zero) && has_sum(product))
      refuse("the sum is multiplied by 0", "a factor of 0, of which nothing of the sum is left",
             "another factor, such as 0.5 * sum(k, A(m, k) * B(k, n)); 1 / 2 of whole numbers is 0 in C++");
  }

  /// Where the sum is near 0, a quotient by it has no digit that can be compared.
  void check_divisor(const Term& divisor) const {
    if (divisor.kind == Term::Kind::number && divisor.number == 0)
      refuse("an expression is divided by 0", "a divisor of 0", "another number");
    if (has_sum(divisor))
      refuse("the sum stands in a divisor", "a quotient by what is summed",
             "the sum above, such as sum(k, A(m, k) * B(k, n)) / length(n)");
  }

  void check_epilogue_access(const TensorAccess& access) {
    check_access(access);
    epilogue_.push_back(access);
    for (const AffineIndex& index : access.indices) {
      for (const auto& [name, coefficient] : index.terms) {
        if (is_reduction(name))
          refuse("an index that is summed over stands outside of the sum", name, "an index of the output");
      }
    }
    if (access.operand != algorithm_.output.operand) return;
    for (std::size_t i = 0; i < access.indices.size(); ++i) {
      const std::string* name = access.indices[i].plain();
      if (name == nullptr || *name != *algorithm_.output.indices[i].plain())
        refuse("the old output is read at another place than is written", text_of(access),
               text_of(algorithm_.output));
    }
  }

  /// Every index occurs in a factor: else the sum would repeat itself, or the output would.
  void check_reductions() const {
    std::set<std::string> used;
    for (const TensorAccess& factor : algorithm_.factors) {
      for (const AffineIndex& index : factor.indices) {
        for (const auto& [name, coefficient] : index.terms) used.insert(name);
      }
    }
    for (const IndexVariable& index : algorithm_.indices) {
      if (used.contains(index.name)) continue;
      refuse(index.reduction ? "an index that is summed over is in no factor of the sum"
                             : "an index of the output is in no factor of the sum",
             index.name, "an index that one of the two factors has");
    }
  }

  void check_extents() {
    for (const TensorAccess& factor : algorithm_.factors) measure(factor);
    measure(algorithm_.output);
    for (const TensorAccess& access : epilogue_) measure(access);
    for (const IndexVariable& index : algorithm_.indices) {
      const auto source = source_of_extent_.find(index.name);
      if (source == source_of_extent_.end())
        refuse("index " + index.name + " has no size",
               "only sums such as " + index.name + " + 1 in every access",
               "a tensor that is indexed with " + index.name + " alone");
      if (source->second.first != index.extent)
        refuse("index " + index.name + " has another size than its tensors",
               index.extent.text() + ", but " + source->second.first.text() + " in " + source->second.second,
               source->second.first.text());
    }
  }

  /// Indices that stand alone give the dimension their size. Sums of indices may leave the tensor.
  void measure(const TensorAccess& access) {
    const Operand& tensor = operand(access);
    for (std::size_t i = 0; i < access.indices.size(); ++i) {
      const std::string* name = access.indices[i].plain();
      if (name == nullptr) continue;
      const Extent& extent = tensor.shape[i];
      const auto& [first, first_tensor] =
          source_of_extent_.emplace(*name, Source{extent, tensor.name}).first->second;
      if (first == extent) continue;
      const std::string here = beside(extent, first), there = beside(first, extent);
      refuse(
          "index " + *name + " is " + there + " in " + first_tensor + " and " + here + " in " + tensor.name,
          "dimension " + std::to_string(i) + " of " + tensor.name + " with " + here + " elements",
          there + " elements, as in " + first_tensor + in_their_place(access, i, first));
    }
  }

  /// Other indices of the access that would fit.
  std::string in_their_place(const TensorAccess& access, std::size_t dimension, const Extent& wanted) const {
    const std::string swapped = exchanged(access, dimension, wanted);
    return swapped.empty() ? replaced(access, dimension) : swapped;
  }

  /// What would fit where two indices of the access change places: "; or X(n, k), whose dimension 1 has 96".
  std::string exchanged(const TensorAccess& access, std::size_t dimension, const Extent& wanted) const {
    const Operand& tensor = operand(access);
    if (tensor.storage == Storage::sparse) return {};
    for (std::size_t other = 0; other < access.indices.size(); ++other) {
      const std::string* name = access.indices[other].plain();
      if (other == dimension || name == nullptr || tensor.shape[other] != wanted) continue;
      const auto known = source_of_extent_.find(*name);
      if (known != source_of_extent_.end() && known->second.first != tensor.shape[dimension]) continue;
      std::vector<AffineIndex> indices = access.indices;
      std::swap(indices[dimension], indices[other]);
      std::string text;
      for (const AffineIndex& index : indices) text += (text.empty() ? "" : ", ") + index.text();
      return "; or " + tensor.name + "(" + text + "), whose dimension " + std::to_string(other) + " has " +
             wanted.text();
    }
    return {};
  }

  /// An index that the access lacks, of as many elements as the dimension has: "; or B(k, n), as k has 96".
  std::string replaced(const TensorAccess& access, std::size_t dimension) const {
    const Operand& tensor = operand(access);
    const bool is_factor = std::ranges::any_of(
        algorithm_.factors, [&](const TensorAccess& factor) { return &factor == &access; });
    for (const IndexVariable& index : algorithm_.indices) {
      const auto known = source_of_extent_.find(index.name);
      if (known == source_of_extent_.end() || known->second.first != tensor.shape[dimension]) continue;
      if (index.reduction && !is_factor) continue;
      const bool stands_there = std::ranges::any_of(access.indices, [&](const AffineIndex& one) {
        return std::ranges::any_of(one.terms, [&](const auto& term) { return term.first == index.name; });
      });
      if (stands_there) continue;
      std::string text;
      for (std::size_t i = 0; i < access.indices.size(); ++i)
        text += (text.empty() ? "" : ", ") + (i == dimension ? index.name : access.indices[i].text());
      return "; or " + tensor.name + "(" + text + "), as " + index.name + " has " +
             known->second.first.text();
    }
    return {};
  }

  // ---- the sparse operand ----

  void check_sparse_operand() const {
    const auto is_sparse = [](const Operand& operand) { return operand.storage == Storage::sparse; };
    const auto count = std::ranges::count_if(algorithm_.operands, is_sparse);
    if (count == 0) return;
    if (count > 1)
      refuse("two operands are sparse", std::to_string(count) + " sparse operands", "at most one");
    if (is_sparse(operand(algorithm_.output)))
      refuse("the output is sparse", operand(algorithm_.output).name, "a dense output");
    for (const TensorAccess& access : epilogue_) {
      if (is_sparse(operand(access)))
        refuse("the sparse operand stands outside of the sum", operand(access).name, "a factor of the sum");
    }
    if (is_sparse(operand(algorithm_.factors[0])) && is_sparse(operand(algorithm_.factors[1])))
      refuse("two operands are sparse", operand(algorithm_.factors[0]).name + " as both factors",
             "at most one");
    for (const TensorAccess& factor : algorithm_.factors) {
      if (is_sparse(operand(factor))) check_sparse_access(factor);
    }
  }

  void check_sparse_access(const TensorAccess& access) const {
    const Operand& weights = operand(access);
    if (!weights.strides.empty())
      refuse("the sparse operand " + weights.name + " has strides", "strides",
             "a packed tensor without strides");
    std::set<std::string> seen;
    bool reductions = false;
    for (const AffineIndex& index : access.indices) {
      const std::string* name = index.plain();
      if (name == nullptr)
        refuse("the sparse operand is indexed with more than plain indices", index.text(), "an index");
      if (!seen.insert(*name).second)
        refuse("an index stands twice in the sparse operand", *name, "every index once");
      if (reductions && !is_reduction(*name))
        refuse("the sparse operand " + weights.name + " has an output index after one that is summed over",
               *name, "output indices first, then indices that are summed over");
      reductions = reductions || is_reduction(*name);
    }
    if (is_reduction(*access.indices.front().plain()))
      refuse("the sparse operand " + weights.name + " has no output index", algorithm_.text(),
             "output indices first, then indices that are summed over");
    for (const IndexVariable& index : algorithm_.indices) {
      if (!index.reduction || seen.contains(index.name)) continue;
      refuse("the sparse operand " + weights.name + " lacks an index that is summed over", index.name,
             "a sparse operand with every index that is summed over");
    }
  }

  // ---- element types ----

  void check_element_types() const {
    for (const Operand& operand : algorithm_.operands) {
      if (is_factor(operand.dtype)) continue;
      refuse("tensor " + operand.name + " has an element type that weft does not compute with",
             std::string(name_of(operand.dtype)), "f16, bf16, f32, f64, e4m3, e5m2, i8");
    }
    const DType factor = operand(algorithm_.factors[0]).dtype;
    const DType other = operand(algorithm_.factors[1]).dtype;
    if (factor != other)
      refuse("the factors of the sum have different element types",
             std::string(name_of(factor)) + " and " + std::string(name_of(other)), "the same for both");
    const DType output = operand(algorithm_.output).dtype;
    if (!output_fits_factors(output, factor))
      refuse("the output's element type does not fit the factors", std::string(name_of(output)),
             factor == DType::f32
                 ? "f32, e4m3, e5m2 or i8"
                 : (is_factor_of_a_byte(factor) ? "f16, bf16" : std::string(name_of(factor))) +
                       ", f32, e4m3, e5m2 or i8");
    if (algorithm_.accumulator != accumulator_of(factor))
      refuse("the sum runs in an element type that does not belong to its factors",
             std::string(name_of(algorithm_.accumulator)), std::string(name_of(accumulator_of(factor))));
    for (const TensorAccess& access : epilogue_) {
      if (size_of(operand(access).dtype) <= size_of(algorithm_.accumulator)) continue;
      refuse(
          "tensor " + operand(access).name + " of the epilogue is wider than the type in which the sum runs",
          std::string(name_of(operand(access).dtype)), std::string(name_of(algorithm_.accumulator)));
    }
  }

  using Source = std::pair<Extent, std::string>;  // a size and the tensor that has it

  const Algorithm& algorithm_;
  std::map<std::string, std::string> kind_of_name_;
  std::map<std::string, const IndexVariable*> variables_;
  std::map<std::string, Source> source_of_extent_;
  std::vector<TensorAccess> epilogue_;
  int sums_ = 0;
};

}  // namespace

void Algorithm::check() const {
  Check(*this).run();
}

}  // namespace weft
