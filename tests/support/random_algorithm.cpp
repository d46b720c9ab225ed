#include "support/random_algorithm.h"

#include <weft/dsl/errors.h>
#include <weft/formats/random.h>
#include <weft/formats/synthetic.h>

#include <algorithm>

#include "formats/generated_matrices.h"

namespace weft::test {
namespace {

class Drawing {
 public:
  explicit Drawing(std::mt19937_64& random) : random_(random) {}

  RandomProblem problem() {
    draw();
    RandomProblem problem;
    problem.algorithm = algorithm_;
    problem.algorithm.check();
    for (const Operand& operand : algorithm_.operands) {
      if (operand.storage == Storage::sparse) {
        problem.matrix = drawn_weights(operand);
        const Format format = drawn_format();
        problem.matrix = fitted(problem.matrix, format);
        problem.weights = std::make_shared<const SparseTensor>(pack(problem.matrix, format));
      } else {
        problem.tensors[operand.name] =
            random_array(operand.dtype, shape_of(operand), random_(), RandomValues::small_integers);
      }
    }
    for (const std::string& scalar : algorithm_.scalars)
      problem.scalars[scalar] = static_cast<double>(between(-3, 3));
    return problem;
  }

 private:
  void draw() {
    algorithm_.name = "drawn";
    type_ = chance(3) ? DType::f16 : chance(8) ? DType::f64 : DType::f32;
    algorithm_.accumulator = type_ == DType::f64 ? DType::f64 : DType::f32;
    draw_indices();
    is_sparse_ = type_ != DType::f64 && !chance(3);
    add_weights();
    add_factor();
    add_epilogue();
  }

  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::uint64_t of) { return random_() % of == 0; }

  void draw_indices() {
    const std::int64_t outputs = between(1, 3), sums = between(1, 2);
    for (std::int64_t i = 0; i < outputs; ++i)
      algorithm_.indices.push_back({std::string(1, "mnp"[i]), drawn_extent(), false});
    for (std::int64_t i = 0; i < sums; ++i)
      algorithm_.indices.push_back({std::string(1, "kr"[i]), between(1, 9), true});
    outputs_ = static_cast<std::size_t>(outputs);
    if (outputs > 1 && chance(3)) algorithm_.indices[outputs_ - 1].extent = Extent::any("N");
  }
  Extent drawn_extent() { return chance(3) ? between(1, 3) : between(2, 40); }

  static AffineIndex plain(const IndexVariable& index) { return {{{index.name, 1}}, 0}; }

  /// The weights, or the dense operand that stands in their place: some output indices, then those summed
  /// over.
  void add_weights() {
    Operand operand{"A", type_, {}, {}, is_sparse_ ? Storage::sparse : Storage::dense};
    TensorAccess access{0, {}};
    const auto take = [&](const IndexVariable& index) {
      operand.shape.push_back(index.extent);
      access.indices.push_back(plain(index));
      used_.push_back(index.name);
    };
    std::vector<IndexVariable> rows(algorithm_.indices.begin(),
                                    algorithm_.indices.begin() + static_cast<std::ptrdiff_t>(outputs_));
    std::erase_if(rows, [](const IndexVariable& index) { return !index.extent.is_static(); });
    std::ranges::shuffle(rows, random_);
    rows.resize(static_cast<std::size_t>(between(1, std::ssize(rows))));
    for (const IndexVariable& row : rows) take(row);
    std::vector<IndexVariable> sums(algorithm_.indices.begin() + static_cast<std::ptrdiff_t>(outputs_),
                                    algorithm_.indices.end());
    std::ranges::shuffle(sums, random_);
    for (const IndexVariable& sum : sums) take(sum);
    algorithm_.operands.push_back(operand);
    algorithm_.factors.push_back(access);
  }

  const IndexVariable& any_index(std::size_t count) { return algorithm_.indices[random_() % count]; }

  /// A place that is an index, or a multiple or sum of indices with a distance, which may leave the operand.
  void add_place(Operand& operand, TensorAccess& access, std::size_t count) {
    const IndexVariable& index = any_index(count);
    if (chance(2)) {
      operand.shape.push_back(index.extent);
      access.indices.push_back(plain(index));
      used_.push_back(index.name);
      return;
    }
    AffineIndex place = plain(index);
    place.terms.front().second = chance(4) ? -1 : between(1, 3);
    const IndexVariable& other = any_index(count);
    if (other.name != index.name && chance(2)) place.terms.emplace_back(other.name, between(1, 2));
    place.constant = chance(4) ? 200 : between(-4, 4);
    for (const auto& [name, coefficient] : place.terms) used_.push_back(name);
    access.indices.push_back(place);
    operand.shape.emplace_back(between(1, 40));
  }

  /// In every index that the weights lack.
  void add_factor() {
    Operand operand{"B", type_, {}, {}, Storage::dense};
    TensorAccess access{1, {}};
    for (std::int64_t i = between(0, 2); i > 0; --i) add_place(operand, access, algorithm_.indices.size());
    for (const IndexVariable& index : algorithm_.indices) {
      if (std::ranges::find(used_, index.name) != used_.end()) continue;
      operand.shape.push_back(index.extent);
      access.indices.push_back(plain(index));
    }
    if (operand.shape.empty()) add_place(operand, access, algorithm_.indices.size());
    const bool is_static =
        std::ranges::all_of(operand.shape, [](const Extent& extent) { return extent.is_static(); });
    if (is_static && chance(4)) add_strides(operand);
    algorithm_.operands.push_back(operand);
    algorithm_.factors.push_back(access);
  }

  void add_strides(Operand& operand) {
    std::int64_t stride = between(1, 2);
    operand.strides.assign(operand.shape.size(), 0);
    for (std::size_t d = operand.shape.size(); d-- > 0;) {
      operand.strides[d] = stride;
      stride = stride * operand.shape[d].value + between(0, 3);
    }
  }

  void add_epilogue() {
    Operand output{
        "C", chance(3) ? type_ == DType::f64 ? DType::f64 : DType::f32 : type_, {}, {}, Storage::dense};
    TensorAccess written{2, {}};
    for (std::size_t i = 0; i < outputs_; ++i) {
      output.shape.push_back(algorithm_.indices[i].extent);
      written.indices.push_back(plain(algorithm_.indices[i]));
    }
    algorithm_.result.kind = Term::Kind::sum;
    if (chance(3)) {
      Operand bias{"bias", type_, {}, {}, Storage::dense};
      Term read{Term::Kind::access, 0, {}, {algorithm_.operands.size(), {}}, {}};
      add_place(bias, read.access, outputs_);
      algorithm_.operands.push_back(bias);
      join(Term::Kind::add, read);
    }
    if (chance(3)) {
      algorithm_.scalars.emplace_back("alpha");
      join(Term::Kind::multiply, {Term::Kind::scalar, 0, "alpha", {}, {}});
    }
    written.operand = algorithm_.operands.size();
    if (chance(4)) join(Term::Kind::subtract, {Term::Kind::access, 0, {}, written, {}});
    if (chance(8)) join(Term::Kind::divide, {Term::Kind::number, 3, {}, {}, {}});
    if (chance(8))
      join(chance(2) ? Term::Kind::maximum : Term::Kind::minimum, {Term::Kind::number, 2, {}, {}, {}});
    if (chance(3)) {
      const Term::Kind functions[] = {Term::Kind::relu, Term::Kind::relu,    Term::Kind::gelu,
                                      Term::Kind::tanh, Term::Kind::sigmoid, Term::Kind::silu};
      algorithm_.result = Term{functions[between(0, 5)], 0, {}, {}, {algorithm_.result}};
    }
    algorithm_.operands.push_back(output);
    algorithm_.output = written;
  }

  void join(Term::Kind kind, const Term& other) {
    Term joined{kind, 0, {}, {}, {algorithm_.result, other}};
    algorithm_.result = joined;
  }

  std::vector<std::int64_t> shape_of(const Operand& operand) {
    std::vector<std::int64_t> shape;
    for (const Extent& extent : operand.shape) shape.push_back(extent.is_static() ? extent.value : size_);
    if (operand.strides.empty()) return shape;
    std::int64_t last = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * operand.strides[d];
    return {last + 1};
  }

  WeightMatrix drawn_weights(const Operand& operand) {
    std::int64_t rows = 1, columns = 1;
    std::vector<std::int64_t> shape;
    for (std::size_t i = 0; i < operand.shape.size(); ++i) {
      const bool of_sum = algorithm_.index(*algorithm_.factors[0].indices[i].plain()).reduction;
      (of_sum ? columns : rows) *= operand.shape[i].value;
      shape.push_back(operand.shape[i].value);
    }
    WeightMatrix matrix = synthetic_layer({.rows = rows,
                                           .columns = columns,
                                           .sparsity = chance(4) ? 1.0 : 0.6,
                                           .dtype = type_,
                                           .seed = random_()});
    for (std::int64_t i = 0; i < matrix.values.size(); ++i)
      matrix.values.set(i, static_cast<double>(between(1, 3)));
    matrix.shape = shape;
    return matrix;
  }

  Format drawn_format() {
    const std::vector<Format> formats{formats::csr(),
                                      formats::csc(),
                                      formats::coo(),
                                      formats::ell(),
                                      formats::dense(),
                                      formats::bcsr(4),
                                      formats::blocked_ell(8),
                                      formats::vector_wise({.rows = 8, .places = 16}),
                                      formats::shfl_bw({.rows = 8, .places = 32}),
                                      formats::n_m({.rows = 16}),
                                      formats::v_n_m({.rows = 16}),
                                      formats::mixed({.rows = 16}),
                                      parse_format("hb_ell:pairs=1"),
                                      parse_format("padded_csr:pad=4"),
                                      formats::bitmap(),
                                      formats::lane_streams(64),
                                      formats::pair_words(128),
                                      parse_format("csr:order=dealt,rows=4"),
                                      formats::sliced_ell({.slice = 4, .pad = 2, .deal = 2})};
    return formats[random_() % formats.size()];
  }

  std::mt19937_64& random_;
  Algorithm algorithm_;
  DType type_ = DType::f32;
  bool is_sparse_ = false;
  std::size_t outputs_ = 0;
  std::int64_t size_ = static_cast<std::int64_t>(random_() % 50) + 1;
  std::vector<std::string> used_;
};

}  // namespace

RandomProblem random_algorithm(std::mt19937_64& random) {
  return Drawing(random).problem();
}

}  // namespace weft::test
