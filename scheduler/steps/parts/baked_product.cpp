#include <fmt/format.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/simplify.h>
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
  if (first == nullptr) return std::nullopt;
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

}  // namespace weft::steps
