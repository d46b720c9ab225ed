#include "random_calls/random_algorithm.h"

#include <weft/dsl/operation.h>

#include <algorithm>
#include <set>

namespace weft::test {
namespace {

class Maker {
 public:
  explicit Maker(Dice& dice) : dice_(dice) {}

  RandomAlgorithm make() {
    algorithm_.name = name({"f", "g", "linear", "spmm"});
    make_indices();
    const DType dtype = dice_.any_of(
        {DType::f32, DType::f32, DType::f32, DType::f16, DType::bf16, DType::f64, DType::e4m3, DType::e5m2});
    algorithm_.accumulator = accumulator_of(dtype);
    const bool sparse = dice_.chance(75);
    make_weights(dtype, sparse);
    make_dense(dtype);
    if (dice_.chance(30)) std::swap(algorithm_.factors[0], algorithm_.factors[1]);
    if (dice_.chance(30) && !sparse)
      std::swap(algorithm_.operands[0], algorithm_.operands[1]), swap_factors();
    // The number of the output is that of the last operand, which is known at the end.
    make_epilogue();
    TensorAccess output;
    std::vector<Extent> shape;
    for (const IndexVariable& index : algorithm_.indices) {
      if (index.reduction) continue;
      output.indices.push_back(plain(index));
      shape.push_back(index.extent);
    }
    const DType type = dice_.chance(70) ? dtype : DType::f32;
    output.operand = add_operand({name({"C", "C", "Y", "out"}), type, shape, {}, Storage::dense}, true);
    algorithm_.output = output;
    number_output(algorithm_.result);
    return {algorithm_, sizes_};
  }

 private:
  static AffineIndex plain(const IndexVariable& index) { return {{{index.name, 1}}, 0}; }

  /// None that is taken.
  std::string name(std::initializer_list<std::string> usual) {
    for (;;) {
      std::string chosen = dice_.chance(88) ? dice_.any_of(usual) : dice_.odd_name();
      if (taken_.contains(chosen)) chosen += std::to_string(dice_.between(0, 99));
      if (taken_.insert(chosen).second) return chosen;
    }
  }

  void make_indices() {
    const std::int64_t outputs = dice_.any_of({1, 2, 2, 2, 2, 3, 3, 4});
    const std::int64_t sums = dice_.any_of({1, 1, 1, 2, 2, 3});
    static const std::vector<std::int64_t> most{70, 70, 40, 14, 9, 6, 4};
    const std::int64_t cap = most[static_cast<std::size_t>(outputs + sums - 1)];
    for (std::int64_t i = 0; i < outputs + sums; ++i) {
      const bool reduction = i >= outputs;
      Extent extent = dice_.between(1, cap);
      if (!reduction && dice_.chance(18)) extent = open(cap);
      if (reduction && dice_.chance(3)) extent = open(cap);
      algorithm_.indices.push_back(
          {reduction ? name({"k", "c", "r", "s", "k2"}) : name({"m", "n", "p", "q", "b", "g"}), extent,
           reduction});
    }
  }

  Extent open(std::int64_t cap) {
    const std::int64_t multiple = dice_.any_of<std::int64_t>({1, 1, 1, 2, 4, 8});
    const std::string size = name({"N", "M", "batch", "length"});
    sizes_[size] = multiple * dice_.between(1, std::max<std::int64_t>(1, cap / multiple));
    return Extent::any(size, multiple);
  }

  std::int64_t size_of(const Extent& extent) const {
    return extent.is_static() ? extent.value : sizes_.at(extent.name);
  }

  std::size_t add_operand(Operand operand, bool output = false) {
    if (operand.storage == Storage::dense && dice_.chance(15)) make_strides(operand, output);
    algorithm_.operands.push_back(std::move(operand));
    return algorithm_.operands.size() - 1;
  }

  void make_strides(Operand& operand, bool output) {
    std::vector<std::size_t> order(operand.shape.size());
    for (std::size_t d = 0; d < order.size(); ++d) order[d] = d;
    if (dice_.chance(60)) dice_.shuffle(order);
    operand.strides.assign(order.size(), 1);
    std::int64_t stride = dice_.any_of<std::int64_t>({1, 1, 1, 2, 3});
    for (std::size_t i = order.size(); i-- > 0;) {
      operand.strides[order[i]] = stride;
      // An open size counts as 2 where the algorithm is checked.
      stride *= std::max<std::int64_t>(size_of(operand.shape[order[i]]), 2);
      stride += dice_.any_of<std::int64_t>({0, 0, 1, 5});
    }
    if (!output && dice_.chance(5)) operand.strides[dice_.place_in(operand.strides)] = dice_.between(1, 7);
  }

  // ---- factors ----

  void make_weights(DType dtype, bool sparse) {
    std::vector<const IndexVariable*> rows, sums;
    for (const IndexVariable& index : algorithm_.indices) (index.reduction ? sums : rows).push_back(&index);
    dice_.shuffle(rows);
    dice_.shuffle(sums);
    while (rows.size() > 1 && dice_.chance(65)) rows.pop_back();
    rows.insert(rows.end(), sums.begin(), sums.end());
    if (!sparse) dice_.shuffle(rows);
    TensorAccess access;
    std::vector<Extent> shape;
    for (const IndexVariable* index : rows) {
      access.indices.push_back(plain(*index));
      shape.push_back(index->extent);
      in_weights_.insert(index->name);
    }
    if (!sparse && dice_.chance(15)) {  // a diagonal
      const std::size_t d = dice_.place_in(shape);
      access.indices.push_back(access.indices[d]);
      shape.push_back(shape[d]);
    }
    access.operand =
        add_operand({name({"A", "A", "W"}), dtype, shape, {}, sparse ? Storage::sparse : Storage::dense});
    algorithm_.factors.push_back(access);
  }

  void make_dense(DType dtype) {
    std::vector<AffineIndex> indices;
    for (const IndexVariable& index : algorithm_.indices) {
      const bool missing = !in_weights_.contains(index.name);
      if (missing || dice_.chance(index.reduction ? 88 : 10)) indices.push_back(plain(index));
    }
    if (indices.empty()) indices.push_back(plain(algorithm_.indices.back()));
    if (dice_.chance(6)) indices.push_back(indices[dice_.place_in(indices)]);
    if (dice_.chance(4)) indices.push_back({{}, dice_.between(0, 2)});
    dice_.shuffle(indices);
    while (indices.size() > 1 && dice_.chance(18)) join_last(indices);
    TensorAccess access;
    std::vector<Extent> shape;
    for (AffineIndex& index : indices) {
      if (index.plain() != nullptr && dice_.chance(10)) index = scaled(index);
      shape.push_back(extent_for(index));
      access.indices.push_back(index);
    }
    access.operand = add_operand({name({"B", "B", "X"}), dtype, shape, {}, Storage::dense});
    algorithm_.factors.push_back(access);
  }

  /// The last two become a sum of both.
  void join_last(std::vector<AffineIndex>& indices) {
    AffineIndex sum = indices.back();
    indices.pop_back();
    AffineIndex& other = indices.back();
    for (const auto& [name, coefficient] : other.terms) {
      if (std::ranges::any_of(sum.terms, [&](const auto& term) { return term.first == name; })) continue;
      sum.terms.emplace_back(name, dice_.any_of<std::int64_t>({1, 1, 2, 3, -1}));
    }
    sum.constant += dice_.between(-2, 2);
    other = sum;
  }

  AffineIndex scaled(AffineIndex index) {
    for (auto& [name, coefficient] : index.terms)
      coefficient = dice_.any_of<std::int64_t>({1, 1, 2, 3, -1, -2, 5});
    index.constant = dice_.any_of<std::int64_t>({0, 0, 1, -1, 3, -4, 40, 200});
    return index;
  }

  Extent extent_for(const AffineIndex& index) {
    if (const std::string* only = index.plain()) return algorithm_.index(*only).extent;
    std::int64_t last = index.constant;
    for (const auto& [name, coefficient] : index.terms)
      last += coefficient * (coefficient > 0 ? size_of(algorithm_.index(name).extent) - 1 : 0);
    return std::clamp<std::int64_t>(last + 1 + dice_.any_of<std::int64_t>({0, 0, 0, -1, -3, 1, 4}), 1, 400);
  }

  // ---- what follows the sum ----

  Term other_term() {
    Term term;
    const std::int64_t choice = dice_.between(0, 9);
    if (choice < 3) {
      term.kind = Term::Kind::number;
      term.number = static_cast<double>(dice_.between(-3, 3));
      if (dice_.chance(15)) term.number = dice_.any_of({0.5, -0.0, 1e-3, 0.1});
    } else if (choice < 6) {
      term.kind = Term::Kind::scalar;
      if (algorithm_.scalars.empty() || dice_.chance(50))
        algorithm_.scalars.push_back(name({"alpha", "beta", "scale"}));
      term.scalar = dice_.any_of(algorithm_.scalars);
    } else {
      term.kind = Term::Kind::access;
      // SIZE_MAX: the output, which has no number yet.
      term.access.operand = choice == 6 ? SIZE_MAX : 0;
      for (const IndexVariable& index : algorithm_.indices) {
        if (index.reduction || (choice != 6 && dice_.chance(50))) continue;
        term.access.indices.push_back(plain(index));
      }
      if (choice == 6) return term;
      if (term.access.indices.empty()) term.access.indices.push_back(plain(algorithm_.indices.front()));
      if (dice_.chance(6)) term.access.indices.push_back(term.access.indices.front());
      std::vector<Extent> shape;
      for (AffineIndex& index : term.access.indices) {
        if (dice_.chance(7)) index = scaled(index);
        shape.push_back(extent_for(index));
      }
      const DType dtype = dice_.chance(70) ? algorithm_.operands.front().dtype : DType::f32;
      term.access.operand =
          add_operand({name({"bias", "D", "residual", "gain"}), dtype, shape, {}, Storage::dense});
    }
    return term;
  }

  void make_epilogue() {
    Term term;
    if (dice_.chance(35)) {
      algorithm_.result = term;
      return;
    }
    for (std::int64_t i = dice_.between(1, 4); i > 0; --i) {
      Term next;
      next.kind = dice_.any_of({Term::Kind::add, Term::Kind::add, Term::Kind::subtract, Term::Kind::multiply,
                                Term::Kind::divide, Term::Kind::maximum, Term::Kind::minimum,
                                Term::Kind::relu, Term::Kind::relu, Term::Kind::gelu, Term::Kind::tanh,
                                Term::Kind::sigmoid, Term::Kind::silu});
      next.arguments.push_back(term);
      if (operation_of(next.kind)->arguments == 2) {
        next.arguments.push_back(other_term());
        Term& other = next.arguments.back();
        const bool is_number = other.kind == Term::Kind::number;
        // Others may be 0.
        if (next.kind == Term::Kind::divide && !is_number) next.kind = Term::Kind::maximum;
        const bool scales = next.kind == Term::Kind::multiply || next.kind == Term::Kind::divide;
        // A sum is neither multiplied by 0 nor divided by it.
        if (scales && is_number && other.number == 0) other.number = 2;
        if (next.kind != Term::Kind::divide && dice_.chance(30))
          std::swap(next.arguments[0], next.arguments[1]);
      }
      term = next;
    }
    algorithm_.result = term;
  }

  void number_output(Term& term) const {
    if (term.kind == Term::Kind::access && term.access.operand == SIZE_MAX)
      term.access.operand = algorithm_.output.operand;
    for (Term& argument : term.arguments) number_output(argument);
  }

  void swap_factors() {
    for (TensorAccess& factor : algorithm_.factors) factor.operand = 1 - factor.operand;
  }

  Dice& dice_;
  Algorithm algorithm_;
  std::map<std::string, std::int64_t> sizes_;
  std::set<std::string> taken_;
  std::set<std::string> in_weights_;
};

std::string text_of(const Term& term) {
  static const std::vector<std::string> leaves{"sum", "number", "scalar", "access"};
  const Operation* operation = operation_of(term.kind);
  const auto leaf = static_cast<std::size_t>(term.kind);
  std::string text = operation != nullptr   ? std::string(operation->text)
                     : leaf < leaves.size() ? leaves[leaf]
                                            : "?";
  if (term.kind == Term::Kind::number) text += " " + std::to_string(term.number);
  if (!term.scalar.empty()) text += " " + term.scalar;
  for (const Term& argument : term.arguments) text += "(" + text_of(argument) + ")";
  return text;
}

}  // namespace

RandomAlgorithm random_algorithm(Dice& dice) {
  return Maker(dice).make();
}

void spoil(Algorithm& algorithm, Dice& dice) {
  Operand& operand = algorithm.operands[dice.place_in(algorithm.operands)];
  IndexVariable& variable = algorithm.indices[dice.place_in(algorithm.indices)];
  TensorAccess& access = dice.chance(50)   ? algorithm.factors[dice.place_in(algorithm.factors)]
                         : dice.chance(50) ? algorithm.output
                                           : algorithm.factors[0];
  AffineIndex& index = access.indices[dice.place_in(access.indices)];
  const std::string any_name = dice.chance(50) ? dice.wild_name() : dice.odd_name();
  switch (dice.between(0, 21)) {
    case 0: operand.name = any_name; break;
    case 1: operand.dtype = static_cast<DType>(dice.between(0, 12)); break;
    case 2:
      operand.shape[dice.place_in(operand.shape)] =
          dice.chance(60) ? dice.wild_number() : dice.between(1, 40);
      break;
    case 3: {
      Extent& extent = operand.shape[dice.place_in(operand.shape)];
      extent.name = any_name;
      extent.multiple = dice.wild_number();
      break;
    }
    case 4: operand.strides.assign(static_cast<std::size_t>(dice.between(0, 4)), dice.wild_number()); break;
    case 5: operand.strides.assign(operand.shape.size(), dice.between(0, 3)); break;
    case 6: operand.storage = operand.storage == Storage::dense ? Storage::sparse : Storage::dense; break;
    case 7: variable.name = any_name; break;
    case 8:
      variable.extent = dice.chance(50) ? Extent(dice.wild_number()) : Extent(dice.between(1, 40));
      break;
    case 9: variable.reduction = !variable.reduction; break;
    case 10:
      access.operand = static_cast<std::size_t>(dice.chance(50) ? dice.between(0, 5) : dice.wild_number());
      break;
    case 11: access.indices.push_back({{{variable.name, 1}}, 0}); break;
    case 12: access.indices.pop_back(); break;
    case 13: index.constant = dice.chance(50) ? dice.wild_number() : dice.between(-300, 300); break;
    case 14: index.terms.emplace_back(dice.chance(50) ? variable.name : any_name, dice.wild_number()); break;
    case 15:
      if (!index.terms.empty())
        index.terms.front().second = dice.chance(50) ? dice.wild_number() : dice.between(-9, 9);
      break;
    case 16: algorithm.scalars.push_back(any_name); break;
    case 17: algorithm.result.kind = static_cast<Term::Kind>(dice.between(0, 15)); break;
    case 18:
      for (std::int64_t i = dice.any_of<std::int64_t>({1, 3, 300}); i > 0; --i) {
        Term term;
        term.kind = dice.any_of({Term::Kind::relu, Term::Kind::silu, Term::Kind::divide});
        term.arguments.assign(dice.chance(90) ? 1 : 2, algorithm.result);
        algorithm.result = term;
        if (term.arguments.size() == 2) break;
      }
      break;
    case 19: algorithm.accumulator = static_cast<DType>(dice.between(0, 12)); break;
    case 20:
      algorithm.factors.resize(static_cast<std::size_t>(dice.between(0, 3)), algorithm.factors.front());
      break;
    default: algorithm.name = any_name;
  }
}

std::vector<std::int64_t> shape_of(const Operand& operand, const std::map<std::string, std::int64_t>& sizes) {
  std::vector<std::int64_t> shape;
  std::int64_t last = 0;
  for (std::size_t d = 0; d < operand.shape.size(); ++d) {
    const Extent& extent = operand.shape[d];
    const auto known = sizes.find(extent.name);
    shape.push_back(extent.is_static()     ? extent.value
                    : known == sizes.end() ? 4 * extent.multiple
                                           : known->second);
    if (d < operand.strides.size()) last += (shape.back() - 1) * operand.strides[d];
  }
  return operand.strides.empty() ? shape : std::vector<std::int64_t>{last + 1};
}

std::string description(const Algorithm& algorithm) {
  std::string text = algorithm.text() + "   as " + algorithm.name + "\n";
  for (const Operand& operand : algorithm.operands) {
    text += "    " + operand.name + " " + std::string(name_of(operand.dtype)) + " [";
    for (const Extent& extent : operand.shape)
      text += " " + extent.text() + (extent.multiple == 1 ? "" : "*" + std::to_string(extent.multiple));
    text += " ]";
    for (const std::int64_t stride : operand.strides) text += " stride " + std::to_string(stride);
    text += operand.storage == Storage::sparse ? " sparse\n" : "\n";
  }
  for (const IndexVariable& index : algorithm.indices)
    text += "    " + index.name + " < " + index.extent.text() + (index.reduction ? " summed" : "");
  return text + "\n    " + text_of(algorithm.result) + ", in " + std::string(name_of(algorithm.accumulator));
}

}  // namespace weft::test
