// Which arrays of packed weights the kernels of a package read.
#include <fmt/format.h>
#include <weft/backends/export/package.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/limits/resources.h>
#include <weft/scheduler/passes/lower.h>
#include <weft/scheduler/program/build_program.h>

#include <algorithm>
#include <cstring>
#include <set>

namespace weft::exporting {
namespace {

constexpr std::size_t most_embedded_bytes = std::size_t{1} << 20;

bool same_array(const SparseTensor::NamedArray& a, const SparseTensor::NamedArray& b) {
  return a.name == b.name && a.array.dtype() == b.array.dtype() && a.array.shape() == b.array.shape() &&
         (a.array.bytes() == 0 || std::memcmp(a.array.data(), b.array.data(), a.array.bytes()) == 0);
}

bool same_packing(const SparseTensor& a, const SparseTensor& b) {
  return a.format() == b.format() && std::ranges::equal(a.arrays(), b.arrays(), same_array);
}

bool reads_weights(const Kernel& kernel) {
  const std::string prefix = kernel.schedule().algorithm().sparse_operand()->name + ".";
  return std::ranges::any_of(kernel.lowered().program.buffers,
                             [&](const ir::BufferRef& buffer) { return buffer->name.starts_with(prefix); });
}

/// Whether it takes the values from memory; else they are numbers in its code.
bool reads_values(const Kernel& kernel) {
  const std::string name = array_buffer_name(kernel.schedule().algorithm().sparse_operand()->name, "values");
  return std::ranges::any_of(kernel.lowered().program.buffers,
                             [&](const ir::BufferRef& buffer) { return buffer->name == name; });
}

/// Entries in other places, and another number of them.
SparseTensor other_pattern(const SparseTensor& weights) {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;
  weights.walk([&](std::int64_t row, std::int64_t column, std::int64_t) {
    rows.push_back(weights.rows() - 1 - row);
    columns.push_back(column);
  });
  if (!rows.empty()) {
    rows.pop_back();
    columns.pop_back();
  }
  Array values(weights.dtype(), {static_cast<std::int64_t>(rows.size())});
  for (std::int64_t i = 0; i < values.size(); ++i) values.set(i, 1);
  WeightMatrix matrix =
      from_coordinates(weights.rows(), weights.columns(), rows, columns, values, "another pattern");
  matrix.shape = weights.shape();
  return pack(matrix, weights.format());
}

/// The program without the sizes of its arguments.
std::string code_of(const ThreadProgram& program) {
  std::string text = ir::print(program.program.body);
  for (const ir::Expr& blocks : program.launch.grid) text += "\n" + ir::print(blocks);
  for (const ir::ConstantBuffer& constant : program.program.constants)
    text += fmt::format("\n{} {}", constant.buffer->name, fmt::join(constant.numbers, ","));
  return text + fmt::format("\n{} {}", program.launch.threads, program.program.index_bits);
}

/// Whether the same steps on weights with other entries make the same code: then the kernel runs with any.
bool runs_with_any_pattern(const Kernel& kernel) {
  const Schedule& schedule = kernel.schedule();
  if (schedule.weights()->format() != formats::csr()) return false;
  try {
    const auto weights = std::make_shared<const SparseTensor>(other_pattern(*schedule.weights()));
    Schedule again(schedule.algorithm(), weights, schedule.target());
    for (const Step& step : schedule.steps()) again.apply(step);
    require_feasible(again.program(), schedule.target());
    return code_of(lower(again.program(), schedule.target())) == code_of(kernel.lowered());
  } catch (const UserError&) {
    return false;
  }
}

void add_packing(Package& package, const SparseTensor& weights) {
  const std::string& sparse = package.algorithm.sparse_operand()->name;
  Packing packing{&weights, {}};
  const std::string suffix = package.packings.empty() ? "" : fmt::format(".{}", package.packings.size() + 1);
  for (const SparseTensor::NamedArray& array : weights.arrays()) {
    packing.tensors.push_back(static_cast<int>(package.tensors.size()));
    package.tensors.push_back(
        {array_buffer_name(sparse, array.name) + suffix, &array.array, array.name == "values"});
  }
  package.packings.push_back(packing);
}

/// Wide elements first, so that all of them are aligned in the file.
void sort_tensors(Package& package) {
  std::vector<int> order(package.tensors.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::ranges::stable_sort(order, [&](int a, int b) {
    const Tensor& first = package.tensors[a];
    const Tensor& second = package.tensors[b];
    const std::size_t x = size_of(first.array->dtype());
    const std::size_t y = size_of(second.array->dtype());
    return x != y ? x > y : first.name < second.name;
  });
  std::vector<Tensor> sorted;
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.push_back(package.tensors[order[i]]);
    place[order[i]] = static_cast<int>(i);
  }
  package.tensors = std::move(sorted);
  for (Packing& packing : package.packings) {
    for (int& tensor : packing.tensors) tensor = place[tensor];
  }
}

}  // namespace

void describe_weights(Package& package, const std::vector<PackageKernel>& kernels) {
  std::set<const SparseTensor*> known;
  std::vector<std::pair<const SparseTensor*, std::size_t>> aliases;
  package.any_pattern = true;
  package.takes_values =
      std::ranges::all_of(kernels, [](const PackageKernel& kernel) { return reads_values(kernel.kernel); });
  for (const PackageKernel& kernel : kernels) {
    if (!reads_weights(kernel.kernel)) continue;
    package.needs_weights = true;
    package.any_pattern = package.any_pattern && runs_with_any_pattern(kernel.kernel);
    const SparseTensor& weights = *kernel.kernel.schedule().weights();
    if (!known.insert(&weights).second) continue;
    const auto equal = std::ranges::find_if(
        package.packings, [&](const Packing& packing) { return same_packing(*packing.weights, weights); });
    if (equal == package.packings.end())
      add_packing(package, weights);
    else
      aliases.emplace_back(&weights, equal - package.packings.begin());
  }
  if (!package.needs_weights) {
    package.any_pattern = false;
    add_packing(package, *kernels.front().kernel.schedule().weights());
  }
  sort_tensors(package);
  package.any_pattern = package.any_pattern && package.takes_values && package.packings.size() == 1;
  std::size_t bytes = 0;
  for (const Tensor& tensor : package.tensors) bytes += tensor.array->bytes();
  package.embeds_weights =
      package.options.embed_weights.value_or(!package.needs_weights && bytes <= most_embedded_bytes);
  // Kernels whose weights are equal but stand elsewhere find the packing under their own address.
  for (const auto& [weights, index] : aliases) {
    Packing alias = package.packings[index];
    alias.weights = weights;
    package.aliases.push_back(alias);
  }
}

}  // namespace weft::exporting
