// Columns that stay where the caller has them, fetched before their turn comes.
#include <weft/backends/llvm/coded_sums.h>
#include <weft/dsl/arithmetic.h>
#include <weft/scheduler/ir/query.h>

#include <algorithm>
#include <set>

namespace weft::llvm_backend {
namespace {

constexpr std::int64_t bytes_of_fetch = 64;
/// Less of the dense operand stays in a second cache of 2 MiB, beside results and code.
constexpr std::int64_t least_bytes_to_fetch = 9 << 18;
/// Fewer multiplications of a line than this are over before the next one has come; and of an operand that
/// almost stays there, more have to pay for asking.
constexpr std::int64_t least_entries_of_row = 3, least_bytes_of_entries = 9 << 20;

/// How far the one loop around the code and its loop moves the first vector, in elements; 0 where several do,
/// or none.
std::int64_t moved_by_group(const ir::Linear& first, const std::string& inner) {
  std::int64_t moved = 0, others = 0;
  for (const ir::Linear::Term& term : first.terms) {
    const auto* variable = term.atom.as<ir::Variable>();
    if (variable != nullptr && variable->name == inner) continue;
    ++others;
    moved = variable != nullptr ? term.coefficient : 0;
  }
  return others == 1 ? moved : 0;
}

}  // namespace

void SumCoder::each_run(const ir::Stmt& sums, const std::function<void(const Sum&)>& visit) {
  const auto* choice = sums.as<ir::If>();
  if (choice == nullptr) return visit(run(sums));
  each_run(choice->then, visit);
  each_run(choice->otherwise, visit);
}

/// All calls for a group of columns, which lie beside one another, share what they fetch of the next group:
/// rows of the dense operand from the first one to the last one that is read, all of its lines in each.
/// Fetching the call's own columns of the next group gained half as much: they lie in as many pages as there
/// are rows.
std::optional<FetchedColumns> SumCoder::fetched_ahead(const CodedNest& nest) {
  const Sum& sum = first_run(nest.block.sums);
  const ir::Buffer& dense = *sum.what.dense;
  const std::int64_t lanes = sum.vectors.lanes(), elements = ir::product_of(dense.shape).value_or(0);
  if (registers_.bytes != VectorRegisters::widest || lanes * sum.bytes_of_dense != bytes_of_fetch ||
      dense.scope != ir::Scope::global || elements * sum.bytes_of_dense < least_bytes_to_fetch ||
      nest.loops.size() != 1)
    return std::nullopt;
  const ir::For& loop = *nest.loops.front().loop;
  const auto vectors = ir::constant_iterations(loop);
  const std::int64_t moved = moved_by_group(sum.first, loop.name);
  // With one vector at a time the next one is asked for too late.
  if (!vectors || vectors->extent < 2 || moved != vectors->extent * lanes ||
      sum.first.coefficient_of(loop.name) != lanes)
    return std::nullopt;
  FetchedColumns fetched;
  std::set<std::int64_t> rows;
  std::int64_t entries = 0;
  each_run(nest.block.sums, [&](const Sum& each) {
    for (const std::int64_t place : *each.places) rows.insert(each.first.constant + place);
    entries += std::ssize(each.table->entries());
    fetched.before[each.table.get()] = fetched.calls;
    fetched.calls += vectors->extent * std::ssize(pieces_of(each, most_bytes_of(nest.block)));
  });
  fetched.between = elements;
  for (auto row = rows.begin(); std::next(row) != rows.end(); ++row)
    fetched.between = std::min(fetched.between, *std::next(row) - *row);
  fetched.rows = (*rows.rbegin() - *rows.begin()) / fetched.between + 1;
  if (entries < least_entries_of_row * fetched.rows ||
      entries * elements * sum.bytes_of_dense < least_bytes_of_entries * fetched.rows)
    return std::nullopt;
  ir::Linear first = sum.first;
  std::erase_if(first.terms, [&](const ir::Linear::Term& term) {
    const auto* variable = term.atom.as<ir::Variable>();
    return variable != nullptr && variable->name == loop.name;
  });
  first.constant = *rows.begin() + moved;
  fetched.first = first.expr();
  fetched.call = ir::variable(loop.name) - loop.begin;
  fetched.vectors = vectors->extent;
  fetched.last = elements - ((fetched.rows_of_call() - 1) * fetched.between + moved);
  return fetched.last > 0 ? std::optional(std::move(fetched)) : std::nullopt;
}

/// What piece `number` of the run fetches.
void SumCoder::fetch(const FetchedColumns& fetched, const Sum& run, std::int64_t number, Sum& piece) {
  const std::int64_t before = fetched.before.at(run.table.get()) + number * fetched.vectors;
  const ir::Expr row = (fetched.call + before) * fetched.rows / fetched.calls;
  // Behind the last columns there may be nothing.
  piece.what.fetched = ir::minimum(fetched.first + row * fetched.between, fetched.last);
  for (std::int64_t each = 0; each < fetched.rows_of_call(); ++each) {
    for (std::int64_t line = 0; line < fetched.vectors; ++line)
      piece.fetched.push_back(each * fetched.between * run.bytes_of_dense + line * bytes_of_fetch);
  }
}

}  // namespace weft::llvm_backend
