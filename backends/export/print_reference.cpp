// src/<name>_reference.c: the algorithm on host arrays, straight from its definition.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/operation.h>

#include <algorithm>

namespace weft::exporting {
namespace {

class ReferencePrinter {
 public:
  explicit ReferencePrinter(const Package& package) : package_(package), algorithm_(package.algorithm) {
    for (std::size_t i = 0; i < algorithm_.factors.size(); ++i) {
      if (algorithm_.operands[algorithm_.factors[i].operand].storage == Storage::sparse) {
        sparse_ = &algorithm_.factors[i];
        dense_ = &algorithm_.factors[1 - i];
      }
    }
  }

  Words words() {
    Words result = words_of(package_);
    result["ADD"] = add();
    result["STORE"] = store();
    result["SUM_COUNT"] = sums_of(algorithm_);
    result["VALUES"] = std::to_string(package_.packings.front().tensor_of("values"));
    return result;
  }

 private:
  template <class... Values>
  void line(fmt::format_string<Values...> format, Values&&... values) {
    text_ += std::string(indent_, ' ') + fmt::format(format, std::forward<Values>(values)...) + "\n";
  }
  void open(const IndexVariable& index) {
    line("for (int64_t i_{0} = 0; i_{0} < {1}; ++i_{0}) {{", index.name, c_extent(index.extent));
    indent_ += 2;
  }
  void close(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      indent_ -= 2;
      line("}}");
    }
  }

  static std::string index_text(const AffineIndex& index) {
    std::string text;
    for (const auto& [name, coefficient] : index.terms)
      text += fmt::format("{}{}i_{}", text.empty() ? "" : " + ",
                          coefficient == 1 ? "" : std::to_string(coefficient) + " * ", name);
    if (index.constant != 0 || text.empty())
      text += fmt::format("{}{}", text.empty() ? "" : " + ", index.constant);
    return text;
  }

  /// The element number of an access whose dimensions are given as C.
  std::string offset(const Operand& operand, const std::vector<std::string>& at) const {
    std::string text;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (!operand.strides.empty()) {
        text += fmt::format("{}({}) * (int64_t){}", d == 0 ? "" : " + ", at[d], operand.strides[d]);
      } else if (d == 0) {
        text = "(" + at[d] + ")";
      } else {
        text = fmt::format("({} * {} + {})", text, c_extent(operand.shape[d]), at[d]);
      }
    }
    return text;
  }

  const std::string& field(std::size_t operand) const {
    return std::ranges::find(package_.operands, operand, &OperandField::operand)->field;
  }

  /// What the epilogue reads, which is zero outside of the operand.
  std::string loaded(const TensorAccess& access) const {
    const Operand& operand = algorithm_.operands[access.operand];
    std::vector<std::string> at;
    std::string inside;
    for (std::size_t d = 0; d < access.indices.size(); ++d) {
      at.push_back(index_text(access.indices[d]));
      if (access.indices[d].plain() != nullptr) continue;
      inside += fmt::format("{}({}) >= 0 && ({}) < {}", inside.empty() ? "" : " && ", at[d], at[d],
                            c_extent(operand.shape[d]));
    }
    const std::string value = fmt::format("{}_load_{}(args->{}, {})", package_.name, name_of(operand.dtype),
                                          field(access.operand), offset(operand, at));
    return inside.empty() ? value : fmt::format("({} ? {} : 0.0)", inside, value);
  }

  /// Where the sum of the current output indices stands.
  std::string sum_place() const {
    std::string text = "0";
    for (const IndexVariable& index : algorithm_.indices) {
      if (!index.reduction) text = fmt::format("({} * {} + i_{})", text, c_extent(index.extent), index.name);
    }
    return text;
  }

  bool is_of_weights(const std::string& name) const {
    return std::ranges::any_of(sparse_->indices,
                               [&](const AffineIndex& index) { return *index.plain() == name; });
  }

  /// One stored weight times everything that it meets.
  std::string add() {
    text_.clear();
    indent_ = 2;
    const Operand& weights = algorithm_.operands[sparse_->operand];
    line("int64_t flat = row * {} + column;", package_.weights().columns());
    for (std::size_t d = sparse_->indices.size(); d-- > 0;) {
      const std::string& name = *sparse_->indices[d].plain();
      line("const int64_t i_{} = flat{};", name, d == 0 ? "" : " % " + c_extent(weights.shape[d]));
      if (d > 0) line("flat /= {};", c_extent(weights.shape[d]));
    }
    line("const double weight = {}_load_{}(w->values, place);", package_.name, name_of(weights.dtype));
    // The rule of backends/reference.h: a stored zero is worth no more than one that is not stored.
    line("if (weight == 0) return; /* beside Inf or NaN too, where a kernel may make NaN of it */");
    std::size_t loops = 0;
    for (const IndexVariable& index : algorithm_.indices) {
      if (is_of_weights(index.name)) continue;
      open(index);
      ++loops;
    }
    const Operand& operand = algorithm_.operands[dense_->operand];
    std::vector<std::string> at;
    for (std::size_t d = 0; d < dense_->indices.size(); ++d) {
      line("const int64_t d{} = {};", d, index_text(dense_->indices[d]));
      at.push_back(fmt::format("d{}", d));
      // Places outside the operand read as zero.
      if (dense_->indices[d].plain() == nullptr)
        line("if (d{0} < 0 || d{0} >= {1}) continue;", d, c_extent(operand.shape[d]));
    }
    line("w->sums[{}] += weight * {}_load_{}(args->{}, {});", sum_place(), package_.name,
         name_of(operand.dtype), field(dense_->operand), offset(operand, at));
    close(loops);
    return text_;
  }

  std::string store() {
    text_.clear();
    indent_ = 2;
    std::size_t loops = 0;
    for (const IndexVariable& index : algorithm_.indices) {
      if (index.reduction) continue;
      open(index);
      ++loops;
    }
    const Operand& output = algorithm_.operands[algorithm_.output.operand];
    std::vector<std::string> at;
    for (const AffineIndex& index : algorithm_.output.indices) at.push_back(index_text(index));
    line("const double sum = w->sums[{}];", sum_place());
    line("{}_store_{}(args->{}, {}, {});", package_.name, name_of(output.dtype),
         field(algorithm_.output.operand), offset(output, at), value(algorithm_.result));
    close(loops);
    return text_;
  }

  std::string value(const Term& term) const {
    const auto argument = [&](std::size_t i) { return value(term.arguments[i]); };
    switch (term.kind) {
      case Term::Kind::sum: return "sum";
      case Term::Kind::number: return fmt::format("({:.17g})", term.number);
      case Term::Kind::scalar:
        return "(double)args->" + std::ranges::find(package_.scalars, term.scalar, &ScalarField::name)->field;
      case Term::Kind::access: return loaded(term.access);
      default: break;
    }
    const Operation* operation = operation_of(term.kind);
    internal_check(operation != nullptr, "an epilogue of an unknown kind");
    if (operation->is_sign()) return fmt::format("({} {} {})", argument(0), operation->text, argument(1));
    std::string arguments = argument(0);
    if (operation->arguments > 1) arguments += ", " + argument(1);
    return fmt::format("of_{}({})", operation->text, arguments);
  }

  const Package& package_;
  const Algorithm& algorithm_;
  const TensorAccess* sparse_ = nullptr;
  const TensorAccess* dense_ = nullptr;
  std::string text_;
  std::size_t indent_ = 0;
};

}  // namespace

std::string sums_of(const Algorithm& algorithm) {
  std::vector<Extent> outputs;
  for (const IndexVariable& index : algorithm.indices) {
    if (!index.reduction) outputs.push_back(index.extent);
  }
  return c_product(outputs);
}

std::string print_reference(const Package& package) {
  return filled("reference.c", ReferencePrinter(package).words());
}

}  // namespace weft::exporting
