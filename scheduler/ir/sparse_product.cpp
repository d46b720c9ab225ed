#include <fmt/format.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/ir/sparse_product.h>
#include <weft/scheduler/ir/visit.h>

#include <algorithm>
#include <memory>
#include <utility>

namespace weft::ir {
namespace {

/// What is read, as f32 or, of 16 bits, made that; else null.
const Load* widened(const Expr& read) {
  const Load* load = read.dtype() == DType::f32 ? loaded(read) : nullptr;
  return load != nullptr && SparseProduct::can_read(load->buffer->dtype) ? load : nullptr;
}

/// The indices of a column's element, each in a form with its constant apart.
using Place = std::vector<Linear>;

Place place_of(const Load& load) {
  Place place;
  for (const Expr& index : load.indices) place.push_back(linear(index));
  return place;
}

bool differ_by_numbers(const Place& a, const Place& b) {
  return std::ranges::equal(a, b, [](const Linear& one, const Linear& other) {
    return std::ranges::equal(one.terms, other.terms, [](const auto& x, const auto& y) {
      return x.coefficient == y.coefficient && same(x.atom, y.atom);
    });
  });
}

/// First entries of what is read once: entries beside one another that multiply the same.
std::vector<std::size_t> begins_of_columns(const std::vector<ReadEntry>& entries) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (i == 0 || entries[i].read.identity() != entries[i - 1].read.identity()) begins.push_back(i);
  }
  return begins;
}

}  // namespace

std::optional<SparseProduct> product_of(const std::vector<ReadEntry>& entries, const BufferRef& sums,
                                        const std::vector<Expr>& place, const std::string& row) {
  if (entries.empty() || sums->dtype != DType::f32) return std::nullopt;
  const Load* first = widened(entries.front().read);
  if (first == nullptr || first->buffer == sums) return std::nullopt;
  const std::vector<std::size_t> begins = begins_of_columns(entries);
  std::vector<Place> places;
  for (const std::size_t begin : begins) {
    const Load* load = widened(entries[begin].read);
    if (load == nullptr || load->buffer != first->buffer) return std::nullopt;
    places.push_back(place_of(*load));
    if (!differ_by_numbers(places.front(), places.back())) return std::nullopt;
  }
  SparseProduct product{.table = {},
                        .coordinates = {},
                        .row = row,
                        .dense = first->buffer,
                        .of_dense = first->indices,
                        .sums = sums,
                        .of_sums = {variable(row)}};
  product.of_sums.insert(product.of_sums.end(), place.begin(), place.end());
  std::vector<std::size_t> varying;
  for (std::size_t i = 0; i < first->indices.size(); ++i) {
    Linear index = places.front()[i];
    const auto is_the_same = [&](const Place& each) { return each[i].constant == index.constant; };
    if (std::ranges::all_of(places, is_the_same)) continue;
    varying.push_back(i);
    product.coordinates.push_back(fmt::format("{}.{}", first->buffer->name, i));
    index.constant = 0;
    product.of_dense[i] = index.expr() + variable(product.coordinates.back());
  }
  auto table = std::make_shared<EntryTable>(varying.size());
  for (std::size_t column = 0; column < begins.size(); ++column) {
    std::vector<std::int64_t> at;
    for (const std::size_t i : varying) at.push_back(places[column][i].constant);
    table->begin_column(at);
    const std::size_t end = column + 1 < begins.size() ? begins[column + 1] : entries.size();
    for (std::size_t i = begins[column]; i < end; ++i) table->add({entries[i].row, entries[i].value});
  }
  product.table = std::move(table);
  return product;
}

namespace {

/// What is read of the dense operand and added to sums, inside loops and conditions.
struct ColumnOfEntries {
  Chain around;
  std::vector<ReadEntry> entries;
  BufferRef sums;
  std::vector<Expr> place;  ///< where in the sums, behind the row
};

/// One entry of `let name = …`, or nothing where it is another statement.
bool add_entry(ColumnOfEntries& column, const Let& read, const Stmt& stmt) {
  const auto* store = stmt.as<Store>();
  const auto* product =
      store != nullptr && store->accumulate ? as_binary(store->value, BinaryOperator::multiply) : nullptr;
  if (product == nullptr || store->indices.empty()) return false;
  const bool left = product->left.as<Constant>() != nullptr;
  const auto* variable = (left ? product->right : product->left).as<Variable>();
  const auto* value = (left ? product->left : product->right).as<Constant>();
  const std::int64_t* row = integer_value(store->indices.front());
  const std::vector<Expr> place(store->indices.begin() + 1, store->indices.end());
  if (variable == nullptr || variable->name != read.name || row == nullptr || value == nullptr ||
      value->dtype != DType::f32)
    return false;
  if (column.entries.empty()) {
    column.sums = store->buffer;
    column.place = place;
  }
  if (store->buffer != column.sums || !same(place, column.place)) return false;
  column.entries.push_back({*row, static_cast<float>(value->real), read.value});
  return true;
}

std::optional<ColumnOfEntries> column_of(const Stmt& stmt) {
  ColumnOfEntries column{chain_of(stmt), {}, {}, {}};
  const auto* read = column.around.core.as<Let>();
  if (read == nullptr || widened(read->value) == nullptr) return std::nullopt;
  const auto* several = read->body.as<Sequence>();
  const std::vector<Stmt> updates = several != nullptr ? several->statements : std::vector{read->body};
  const auto add = [&](const Stmt& update) { return add_entry(column, *read, update); };
  return std::ranges::all_of(updates, add) ? std::optional(std::move(column)) : std::nullopt;
}

bool are_beside(const ColumnOfEntries& a, const ColumnOfEntries& b) {
  const auto same_loop = [](const For& x, const For& y) {
    return x.name == y.name && x.kind == y.kind && same(x.begin, y.begin) && same(x.extent, y.extent);
  };
  return a.sums == b.sums && same(a.place, b.place) &&
         std::ranges::equal(a.around.loops, b.around.loops, same_loop) &&
         same(a.around.conditions, b.around.conditions);
}

}  // namespace

Stmt with_products(const Stmt& stmt) {
  return rewrite<Sequence>(stmt, [](const Sequence& sequence) {
    std::vector<Stmt> result;
    for (std::size_t i = 0; i < sequence.statements.size();) {
      auto columns = column_of(sequence.statements[i]);
      std::size_t end = i + 1;
      for (; columns && end < sequence.statements.size(); ++end) {
        const auto next = column_of(sequence.statements[end]);
        if (!next || !are_beside(*columns, *next)) break;
        columns->entries.insert(columns->entries.end(), next->entries.begin(), next->entries.end());
      }
      auto product = columns && end > i + 1 ? product_of(columns->entries, columns->sums, columns->place,
                                                         columns->sums->name + ".row")
                                            : std::nullopt;
      if (product) {
        columns->around.core = sparse_product(*std::move(product));
        result.push_back(rebuild(std::move(columns->around)));
      } else {
        result.insert(result.end(), sequence.statements.begin() + static_cast<std::ptrdiff_t>(i),
                      sequence.statements.begin() + static_cast<std::ptrdiff_t>(end));
      }
      i = end;
    }
    return block(std::move(result));
  });
}

Stmt written_out(const Stmt& stmt) {
  const auto at = [](std::vector<Expr> indices, const Substitution& by_name) {
    for (Expr& index : indices) index = substitute(index, by_name);
    return indices;
  };
  return rewrite<SparseProduct>(stmt, [&](const SparseProduct& product) {
    const EntryTable& table = *product.table;
    const std::string name = product.sums->name + ".factor";
    std::vector<Stmt> statements;
    for (std::size_t column = 0; column < table.columns(); ++column) {
      Substitution place;
      for (std::size_t i = 0; i < product.coordinates.size(); ++i)
        place[product.coordinates[i]] = integer(table.place(column)[i]);
      std::vector<Stmt> updates;
      for (const EntryTable::Entry& entry : table.entries(column))
        updates.push_back(
            store(product.sums, at(product.of_sums, {{product.row, integer(entry.row)}}),
                  constant(DType::f32, static_cast<double>(entry.value)) * variable(name, DType::f32), true));
      const Expr read = cast(DType::f32, load(product.dense, at(product.of_dense, place)));
      statements.push_back(let(name, read, block(std::move(updates))));
    }
    return block(std::move(statements));
  });
}

}  // namespace weft::ir
