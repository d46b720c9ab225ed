#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/ir/written_out.h>

#include <utility>

namespace weft::ir {

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
