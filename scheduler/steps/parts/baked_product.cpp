#include <fmt/format.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/baked_product.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace weft::steps {
namespace {

/// What is read, as f32 or, of 16 bits, made that; else null.
const ir::Load* widened(const Expr& read) {
  const ir::Load* load = read.dtype() == DType::f32 ? ir::loaded(read) : nullptr;
  return load != nullptr && ir::SparseProduct::can_read(load->buffer->dtype) ? load : nullptr;
}

/// The indices of a column's element, each in a form with its constant apart.
using Place = std::vector<ir::Linear>;

Place place_of(const ir::Load& load) {
  Place place;
  for (const Expr& index : load.indices) place.push_back(ir::linear(index));
  return place;
}

bool differ_by_numbers(const Place& a, const Place& b) {
  return std::ranges::equal(a, b, [](const ir::Linear& one, const ir::Linear& other) {
    return std::ranges::equal(one.terms, other.terms, [](const auto& x, const auto& y) {
      return x.coefficient == y.coefficient && ir::same(x.atom, y.atom);
    });
  });
}

/// First entries of what is read once: entries beside one another that multiply the same.
std::vector<std::size_t> begins_of_columns(const std::vector<BakedEntry>& entries) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].shared.identity() != entries[i - 1].shared.identity()) begins.push_back(i);
  }
  return begins;
}

bool are_alike(const std::vector<BakedEntry>& entries) {
  const BakedEntry& first = entries.front();
  return std::ranges::all_of(entries, [&](const BakedEntry& entry) {
    const auto* value = entry.value.as<ir::Constant>();
    return entry.shared.defined() && value != nullptr && value->dtype == DType::f32 &&
           ir::same(entry.conditions, first.conditions);
  });
}

}  // namespace

std::optional<ir::SparseProduct> baked_product(const std::vector<BakedEntry>& entries,
                                               const ir::BufferRef& sums, const std::vector<Expr>& place,
                                               const std::string& row) {
  if (entries.empty() || sums->dtype != DType::f32 || !are_alike(entries)) return std::nullopt;
  const ir::Load* first = widened(entries.front().shared);
  if (first == nullptr || first->buffer == sums) return std::nullopt;
  const std::vector<std::size_t> begins = begins_of_columns(entries);
  std::vector<Place> places;
  for (const std::size_t begin : begins) {
    const ir::Load* load = widened(entries[begin].shared);
    if (load == nullptr || load->buffer != first->buffer) return std::nullopt;
    places.push_back(place_of(*load));
    if (!differ_by_numbers(places.front(), places.back())) return std::nullopt;
  }
  ir::SparseProduct product{.table = {},
                            .coordinates = {},
                            .row = row,
                            .dense = first->buffer,
                            .of_dense = first->indices,
                            .sums = sums,
                            .of_sums = {ir::variable(row)}};
  product.of_sums.insert(product.of_sums.end(), place.begin(), place.end());
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < first->indices.size(); ++i) {
    ir::Linear index = places.front()[i];
    const auto is_the_same = [&](const Place& each) { return each[i].constant == index.constant; };
    if (std::ranges::all_of(places, is_the_same)) continue;
    varying.push_back(i);
    product.coordinates.push_back(fmt::format("{}.{}", first->buffer->name, i));
    index.constant = 0;
    product.of_dense[i] = index.expr() + ir::variable(product.coordinates.back());
  }
  auto table = std::make_shared<ir::EntryTable>(varying.size());
  for (std::size_t column = 0; column < begins.size(); ++column) {
    std::vector<std::int64_t> at;
    for (const std::size_t i : varying) at.push_back(places[column][i].constant);
    table->begin_column(at);
    const std::size_t end = column + 1 < begins.size() ? begins[column + 1] : entries.size();
    for (std::size_t i = begins[column]; i < end; ++i)
      table->add({entries[i].row, static_cast<float>(entries[i].value.as<ir::Constant>()->real)});
  }
  product.table = std::move(table);
  return product;
}

namespace {

/// What is read of the dense operand and added to sums, inside loops and conditions.
struct ColumnOfEntries {
  ir::Chain around;
  std::vector<BakedEntry> entries;
  ir::BufferRef sums;
  std::vector<Expr> place;  ///< of the sums, behind the row
};

/// One entry of `let name = …`, or nothing where it is another statement.
bool add_entry(ColumnOfEntries& column, const ir::Let& read, const Stmt& stmt) {
  const auto* store = stmt.as<ir::Store>();
  const auto* product = store != nullptr && store->accumulate
                            ? ir::as_binary(store->value, ir::BinaryOperator::multiply)
                            : nullptr;
  if (product == nullptr || store->indices.empty()) return false;
  const bool left = product->left.as<ir::Constant>() != nullptr;
  const auto* variable = (left ? product->right : product->left).as<ir::Variable>();
  const std::int64_t* row = ir::integer_value(store->indices.front());
  const std::vector<Expr> place(store->indices.begin() + 1, store->indices.end());
  if (variable == nullptr || variable->name != read.name || row == nullptr) return false;
  if (column.entries.empty()) {
    column.sums = store->buffer;
    column.place = place;
  }
  if (store->buffer != column.sums || !ir::same(place, column.place)) return false;
  column.entries.push_back({.column = 0,
                            .row = *row,
                            .value = left ? product->left : product->right,
                            .shared = read.value,
                            .conditions = {}});
  return true;
}

std::optional<ColumnOfEntries> column_of(const Stmt& stmt) {
  ColumnOfEntries column{ir::chain_of(stmt), {}, {}, {}};
  const auto* read = column.around.core.as<ir::Let>();
  if (read == nullptr || widened(read->value) == nullptr) return std::nullopt;
  const auto* several = read->body.as<ir::Sequence>();
  const std::vector<Stmt> updates = several != nullptr ? several->statements : std::vector{read->body};
  const auto add = [&](const Stmt& update) { return add_entry(column, *read, update); };
  return std::ranges::all_of(updates, add) ? std::optional(std::move(column)) : std::nullopt;
}

bool are_beside(const ColumnOfEntries& a, const ColumnOfEntries& b) {
  const auto same_loop = [](const ir::For& x, const ir::For& y) {
    return x.name == y.name && x.kind == y.kind && ir::same(x.begin, y.begin) && ir::same(x.extent, y.extent);
  };
  return a.sums == b.sums && ir::same(a.place, b.place) &&
         std::ranges::equal(a.around.loops, b.around.loops, same_loop) &&
         ir::same(a.around.conditions, b.around.conditions);
}

}  // namespace

Stmt with_products(const Stmt& stmt) {
  return ir::rewrite<ir::Sequence>(stmt, [](const ir::Sequence& block) {
    std::vector<Stmt> result;
    for (std::size_t i = 0; i < block.statements.size();) {
      auto columns = column_of(block.statements[i]);
      std::size_t end = i + 1;
      for (; columns && end < block.statements.size(); ++end) {
        const auto next = column_of(block.statements[end]);
        if (!next || !are_beside(*columns, *next)) break;
        columns->entries.insert(columns->entries.end(), next->entries.begin(), next->entries.end());
      }
      auto product = columns && end > i + 1 ? baked_product(columns->entries, columns->sums, columns->place,
                                                            columns->sums->name + ".row")
                                            : std::nullopt;
      if (product) {
        columns->around.core = ir::sparse_product(*std::move(product));
        result.push_back(ir::rebuild(std::move(columns->around)));
      } else {
        result.insert(result.end(), block.statements.begin() + static_cast<std::ptrdiff_t>(i),
                      block.statements.begin() + static_cast<std::ptrdiff_t>(end));
      }
      i = end;
    }
    return ir::block(std::move(result));
  });
}

}  // namespace weft::steps
