// Squares of a local array that are read across, as where a matrix is transposed: by shuffles, where LLVM
// would gather.
#include <weft/backends/llvm/emit.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>

#include <array>
#include <utility>

namespace weft::llvm_backend {
namespace {

constexpr unsigned side = 16;

/// What is behind a condition, if there is one.
const ir::Stmt& behind_guard(const ir::Stmt& stmt) {
  const auto* guard = stmt.as<ir::If>();
  return guard != nullptr && !guard->otherwise.defined() ? guard->then : stmt;
}

/// Along a side, or so much of it that turning the square pays.
bool goes_along_side(const ir::For& loop) {
  constexpr std::int64_t least = 4;
  const auto range = ir::constant_iterations(loop);
  return range && range->begin == 0 && range->extent >= least && range->extent <= side;
}

bool is_loop(const ir::Expr& index, const ir::For& loop) {
  const auto* variable = index.as<ir::Variable>();
  return variable != nullptr && variable->name == loop.name;
}

/// Whose rows lie behind one another.
bool is_square(const ir::Buffer& buffer) {
  const auto is = [](const ir::Expr& expr, std::int64_t number) {
    return ir::same(expr, ir::integer(number));
  };
  return buffer.scope != ir::Scope::global && buffer.swizzle == 0 && buffer.shape.size() == 2 &&
         is(buffer.shape[0], side) && is(buffer.shape[1], side) &&
         (buffer.strides.empty() || (is(buffer.strides[0], side) && is(buffer.strides[1], 1)));
}

/// The square of which each iteration of the loop stores a column, as a vector; null where it does something
/// else.
const ir::Load* read_across(const ir::For& columns) {
  if (columns.kind != LoopKind::serial || !goes_along_side(columns)) return nullptr;
  const auto* rows = behind_guard(columns.body).as<ir::For>();
  if (rows == nullptr || rows->kind != LoopKind::vectorized || !goes_along_side(*rows)) return nullptr;
  const auto* store = behind_guard(rows->body).as<ir::Store>();
  const auto* load = store == nullptr ? nullptr : store->value.as<ir::Load>();
  const bool is_across = load != nullptr && load->buffer != store->buffer && is_square(*load->buffer) &&
                         is_loop(load->indices[0], *rows) && is_loop(load->indices[1], columns);
  return is_across ? load : nullptr;
}

using Rows = std::array<llvm::Value*, side>;

/// Of two vectors: places[i % 4] of each four elements, those from `side` on of the other vector.
std::array<int, side> in_fours(const std::array<int, 4>& places) {
  std::array<int, side> all{};
  for (std::size_t i = 0; i < side; ++i) all[i] = static_cast<int>(i / 4 * 4) + places[i % 4];
  return all;
}

/// Of two vectors: the fours from `first` on, each second one, of the one and then of the other.
std::array<int, side> of_fours(int first) {
  std::array<int, side> all{};
  for (int i = 0; i < static_cast<int>(side); ++i)
    all[static_cast<std::size_t>(i)] = i / 8 * static_cast<int>(side) + (i / 4 % 2 * 2 + first) * 4 + i % 4;
  return all;
}

/// Squares of four elements are turned first, within 16 bytes of f32, then they change places: two rounds of
/// shuffles of 16 vectors each, the cheapest ones of their kinds.
void turn_square(llvm::IRBuilder<>& builder, Rows& rows) {
  constexpr int other = side;
  const auto round = [&](unsigned apart, const std::array<int, side>& first,
                         const std::array<int, side>& second) {
    for (unsigned row = 0; row < side; ++row) {
      if ((row & apart) != 0) continue;
      llvm::Value *const one = rows[row], *const next = rows[row + apart];
      rows[row] = builder.CreateShuffleVector(one, next, first);
      rows[row + apart] = builder.CreateShuffleVector(one, next, second);
    }
  };
  round(1, in_fours({0, other, 1, other + 1}), in_fours({2, other + 2, 3, other + 3}));
  round(2, in_fours({0, 1, other, other + 1}), in_fours({2, 3, other + 2, other + 3}));
  // What was columns 0 and 1 of four stands in rows 0 and 2, what was 2 and 3 in rows 1 and 3.
  for (unsigned row = 0; row < side; row += 4) std::swap(rows[row + 1], rows[row + 2]);
  round(4, of_fours(0), of_fours(1));
  round(8, of_fours(0), of_fours(1));
}

}  // namespace

/// Rows and columns change places in a second square, which is then read along.
bool Emitter::square_across(const ir::For& columns) {
  const ir::Load* read = capabilities_.gpu || lanes_ ? nullptr : read_across(columns);
  if (read == nullptr) return false;
  const ir::BufferRef square = read->buffer;
  const auto turned = ir::make_tile(square->name + ".across", *square, ir::Scope::registers,
                                    {std::int64_t{side}, std::int64_t{side}});
  const Storage from = storage_of(*square), to = local_array(*turned);
  known_elements_.erase(from.pointer);
  auto* row_type = llvm::FixedVectorType::get(storage_type(square->dtype), side);
  const auto size = static_cast<std::int64_t>(size_of(square->dtype));
  const llvm::Align aligned(static_cast<std::uint64_t>(std::min(from.alignment, side * size)));
  const auto row_of = [&](const Storage& storage, unsigned row) {
    return builder_.CreateConstInBoundsGEP1_64(row_type, storage.pointer, row);
  };
  Rows rows{};
  for (unsigned row = 0; row < side; ++row)
    rows[row] = builder_.CreateAlignedLoad(row_type, row_of(from, row), aligned);
  turn_square(builder_, rows);
  for (unsigned row = 0; row < side; ++row) builder_.CreateAlignedStore(rows[row], row_of(to, row), aligned);
  ir::For along = columns;
  along.body = ir::rewrite<ir::Load>(columns.body, [&](const ir::Load& load, const ir::Expr& e) {
    return load.buffer == square ? ir::load(turned, {load.indices[1], load.indices[0]}) : e;
  });
  frame_.buffers[turned.get()] = to;
  serial_loop(along, false);
  frame_.buffers.erase(turned.get());
  return true;
}

}  // namespace weft::llvm_backend
