#include <fmt/format.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/steps/parts/parameters.h>
#include <weft/scheduler/steps/parts/refused_nest.h>

#include <algorithm>

namespace weft::steps {
namespace {

std::vector<const ir::Load*> loads_in(const Expr& value) {
  return ir::find_all<ir::Load>(value, [](const ir::Load& load) { return is_float(load.buffer->dtype); });
}

/// What of the factors lies in global memory, where no read may leave its array.
std::string globals(const ir::Store& store) {
  std::vector<std::string> names;
  for (const ir::Load* factor : loads_in(store.value)) {
    if (factor->buffer->scope == ir::Scope::global) names.push_back(factor->buffer->name);
  }
  if (names.empty()) return {};
  return fmt::format(", and reads {} from global memory", fmt::join(names, " and "));
}

Reason entries_of_one_row(const std::string& loop, const std::string& read) {
  return {3, fmt::format("{} goes through the entries of one row at a time{}", loop, read),
          "weights in tiles of rows that share columns (formats shfl_bw, vector_wise, n_m, v_n_m, "
          "bcsr); any weights are so by v_n_m(algorithm, pack(weights, "
          "formats::column_quads({.rows = 64})), target), a recipe with all steps, of factors of f16 or bf16",
          loop};
}

/// Where each row of the weights has entries of its own, no order of the loops makes tiles.
std::optional<Reason> goes_through_entries(const ir::Chain& chain, const ir::Store& store) {
  for (const ir::For& loop : chain.loops) {
    if (ir::find_all<ir::Load>(loop.extent, [](const ir::Load&) { return true; }).empty()) continue;
    for (const ir::Load* factor : loads_in(store.value)) {
      if (factor->indices.size() != 1 || !ir::uses(factor->indices.front(), loop.name)) continue;
      return entries_of_one_row(
          loop.name, fmt::format(", {}[{}]", factor->buffer->name, ir::print(factor->indices.front())));
    }
  }
  return std::nullopt;
}

}  // namespace

Reason RefusedNest::asks_something(const ir::Chain& chain, const ir::Store& store) const {
  return {2,
          fmt::format("the sum asks {}{}", ir::print(chain.conditions.front()), globals(store)),
          without_condition(chain, store),
          {}};
}

std::string RefusedNest::without_condition(const ir::Chain& chain, const ir::Store& store) const {
  const bool is_staged = std::ranges::none_of(
      loads_in(store.value), [](const ir::Load* load) { return load->buffer->scope == ir::Scope::global; });
  const auto* compared = chain.conditions.front().as<ir::Binary>();
  const std::int64_t* size = compared == nullptr ? nullptr : ir::integer_value(compared->right);
  for (const ir::For& loop : chain.loops) {
    const std::int64_t* extent = ir::integer_value(loop.extent);
    if (!is_staged || size == nullptr || extent == nullptr || !ir::uses(compared->left, loop.name)) continue;
    const std::int64_t least = loop.role == ir::LoopRole::output ? 8 : 16;  // instructions are so large
    for (std::int64_t factor = *extent / least * least; factor > 0; factor -= least) {
      if (*size % factor == 0)
        return fmt::format("a factor that divides {}: {} of {} iterations", *size, loop.name, factor);
    }
    return fmt::format(
        "sizes that are multiples of {} in place of {}; or weights in groups of rows, such "
        "as vector_wise, of which .stitch fills tiles up with zeros",
        least, *size);
  }
  return "operands in tiles that are zero where nothing is read: stage and stitch them first" +
         copies(chain, store);
}

std::string RefusedNest::copies(const ir::Chain& chain, const ir::Store& store) const {
  const std::string at = place_of_copies(chain);
  const Operand* sparse = context_.algorithm.sparse_operand();
  if (sparse == nullptr || at.empty() || !ir::any<ir::Load>(chain.conditions.front())) return {};
  std::string steps;
  for (const ir::Load* factor : loads_in(store.value)) {
    const bool is_weights = factor->buffer->tensor == sparse->name;
    const std::string& tensor = is_weights ? factor->buffer->name : factor->buffer->tensor;
    const char* kind = is_weights ? "stage" : "stitch";
    if (factor->buffer->scope == ir::Scope::global)
      steps += Step{kind, {{{}, tensor}, {{}, "shared"}, {"at", at}}, {}}.cpp();
  }
  return steps.empty() ? steps : ", such as " + steps;
}

std::string RefusedNest::place_of_copies(const ir::Chain& chain) const {
  std::string at;
  for (const std::string& loop : loop_names(program_.body)) {
    const bool around = std::ranges::any_of(
        chain.loops, [&](const ir::For& each) { return stands_inside(program_.body, each.name, loop); });
    if (around && !ir::is_over_output(ir::role_of(program_.body, loop))) at = loop;
  }
  return at;
}

Reason RefusedNest::not_shared(const ir::Load& factor, const ir::Chain& chain) const {
  const std::string& name = factor.buffer->name;
  const std::string at = place_of_copies(chain);
  const Step stage{"stage", {{{}, factor.buffer->tensor}, {{}, "shared"}, {"at", at.empty() ? "…" : at}}, {}};
  return {4, fmt::format("{} is read from {}", name, ir::name_of(factor.buffer->scope)),
          fmt::format("both factors in shared memory: {} first, or stitch", stage.cpp()), name};
}

Reason RefusedNest::other_form(const ir::Chain& chain, const ir::Store& store) const {
  constexpr const char* form =
      "sum[m, n] += f32(left[m, k]) * f32(right[k, n]), with one serial loop of constant extent for each "
      "of m, n and k, in loops over warps";
  std::string found = ir::print(chain.core);
  if (found.ends_with('\n')) found.pop_back();
  for (const ir::For& loop : chain.loops) {
    if (loop.kind == LoopKind::lane || loop.kind == LoopKind::thread || loop.kind == LoopKind::vectorized)
      return {
          3,
          fmt::format("{} is {}, and the instruction shares its tile out to lanes itself", loop.name,
                      ir::name_of(loop.kind)),
          fmt::format("loops of the tile that are serial, in loops over warps: leave out the step that made "
                      "{} {}",
                      loop.name, ir::name_of(loop.kind)),
          loop.name};
  }
  if (auto refused = goes_through_entries(chain, store)) return *std::move(refused);
  if (store.indices.size() < 2)
    return {
        3, fmt::format("{}, a sum over one number at a time", found),
        fmt::format("a tile of sums: split the rows, the columns and what is summed, as .split(m = 64, n = "
                    "64, k = 32).reorder(m.outer, n.outer, k.outer, m.inner, n.inner, k.inner) does, and "
                    "stage both factors at k.outer; so that it is {}",
                    form),
        store.buffer->name};
  for (const ir::Load* factor : loads_in(store.value)) {
    if (factor->buffer->scope == ir::Scope::global) return not_shared(*factor, chain);
  }
  return {3, found, form, {}};
}

std::optional<Reason> RefusedNest::goes_through_rows() const {
  std::optional<Reason> refused;
  ir::visit(program_.body,
            [&](const Stmt& stmt) {
              const auto* loop = stmt.as<ir::For>();
              const auto is_sum = [](const ir::For& inner) { return inner.role == ir::LoopRole::sum; };
              if (loop == nullptr || refused || !is_sum(*loop) || !ir::any<ir::Load>(loop->extent) ||
                  ir::any<ir::For>(loop->body, is_sum))
                return;
              refused = entries_of_one_row(loop->name, {});
            },
            {});
  return refused;
}

}  // namespace weft::steps
