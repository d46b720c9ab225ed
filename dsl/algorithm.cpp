#include <fmt/format.h>
#include <weft/dsl/algorithm.h>
#include <weft/dsl/errors.h>
#include <weft/dsl/operation.h>

#include <algorithm>
#include <functional>
#include <ostream>

namespace weft {
namespace {

/// Writes an algorithm, also one that does not hold together: messages about such a one quote it.
class Writer {
 public:
  explicit Writer(const Algorithm& algorithm) : algorithm_(algorithm) {}

  std::string access(const TensorAccess& access) const {
    std::string indices;
    for (const AffineIndex& index : access.indices) indices += (indices.empty() ? "" : ", ") + index.text();
    const bool known = access.operand < algorithm_.operands.size();
    return (known ? algorithm_.operands[access.operand].name : "?") + "[" + indices + "]";
  }

  std::string term(const Term& term) const {
    switch (term.kind) {
      case Term::Kind::sum: return sum();
      case Term::Kind::number: return fmt::format("{}", term.number);
      case Term::Kind::scalar: return term.scalar;
      case Term::Kind::access: return access(term.access);
      default: break;
    }
    const Operation* operation = operation_of(term.kind);
    if (operation == nullptr) return "?";
    if (operation->is_sign()) return joined(term, fmt::format(" {} ", operation->text));
    return fmt::format("{}({})", operation->text, joined(term, ", "));
  }

 private:
  static constexpr int closed = 3;

  static int precedence(const Term& term) {
    const Operation* operation = operation_of(term.kind);
    return operation == nullptr ? closed : operation->precedence;
  }

  std::string joined(const Term& term, const std::string& sign) const {
    const int outside = precedence(term) == closed ? 0 : precedence(term);
    std::string text;
    for (const Term& argument : term.arguments) {
      const bool first = &argument == &term.arguments.front();
      const int inside = precedence(argument);
      const bool regrouped = !first && inside == outside;
      const std::string written = this->term(argument);
      text += (first ? "" : sign) + (inside < outside || regrouped ? "(" + written + ")" : written);
    }
    return text;
  }

  std::string sum() const {
    std::string text = "sum(";
    for (const IndexVariable& index : algorithm_.indices) {
      if (index.reduction) text += index.name + ", ";
    }
    for (std::size_t i = 0; i < algorithm_.factors.size(); ++i)
      text += (i == 0 ? "" : " * ") + access(algorithm_.factors[i]);
    return text + ")";
  }

  const Algorithm& algorithm_;
};

}  // namespace

const std::string* AffineIndex::plain() const {
  const bool plain = terms.size() == 1 && terms.front().second == 1 && constant == 0;
  return plain ? &terms.front().first : nullptr;
}

std::string AffineIndex::text() const {
  std::string text;
  const auto add = [&](std::int64_t value, const std::string& name) {
    // Negated as unsigned, because the lowest number has no positive counterpart.
    const auto size = value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    text += text.empty() ? (value < 0 ? "-" : "") : (value < 0 ? " - " : " + ");
    text += name.empty() ? fmt::format("{}", size) : size == 1 ? name : fmt::format("{}*{}", size, name);
  };
  for (const auto& [name, coefficient] : terms) add(coefficient, name);
  if (constant != 0 || terms.empty()) add(constant, {});
  return text;
}

const IndexVariable& Algorithm::index(const std::string& wanted) const {
  const auto found =
      std::ranges::find_if(indices, [&](const IndexVariable& index) { return index.name == wanted; });
  internal_check(found != indices.end(), "algorithm " + name + " has no index " + wanted);
  return *found;
}

const Operand* Algorithm::sparse_operand() const {
  const auto found = std::ranges::find_if(
      operands, [](const Operand& operand) { return operand.storage == Storage::sparse; });
  return found == operands.end() ? nullptr : &*found;
}

bool Algorithm::takes_any_weights() const {
  const Operand* weights = sparse_operand();
  return weights != nullptr &&
         std::ranges::any_of(weights->shape, [](const Extent& extent) { return !extent.is_static(); });
}

bool Algorithm::reads_output() const {
  const std::function<bool(const Term&)> reads = [&](const Term& term) {
    return (term.kind == Term::Kind::access && term.access.operand == output.operand) ||
           std::ranges::any_of(term.arguments, reads);
  };
  return reads(result);
}

std::string Algorithm::text() const {
  const Writer writer(*this);
  return writer.access(output) + " = " + writer.term(result);
}

std::ostream& operator<<(std::ostream& stream, const Algorithm& algorithm) {
  return stream << algorithm.text();
}

}  // namespace weft
