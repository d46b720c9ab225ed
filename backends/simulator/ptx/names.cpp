#include <fmt/format.h>
#include <weft/backends/simulator/ptx/names.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <optional>

namespace weft::simulator::ptx {
namespace {

constexpr std::size_t deepest_scope = 32;  // braces within braces
constexpr std::size_t most_digits = 7;     // digits of a number in a range of registers

struct Split {
  std::string_view prefix;
  std::uint32_t number = 0;
};

/// "%r12" as "%r" and 12, with `digits` digits; nothing where a range would not write the number so.
std::optional<Split> split(std::string_view text, std::size_t digits) {
  if (digits >= text.size()) return std::nullopt;
  const std::string_view number = text.substr(text.size() - digits);
  if (digits > 1 && number[0] == '0') return std::nullopt;
  Split parts{text.substr(0, text.size() - digits), 0};
  for (const char c : number) parts.number = parts.number * 10 + static_cast<std::uint32_t>(c - '0');
  return parts;
}

std::size_t digits_at_end(std::string_view text) {
  std::size_t digits = 0;
  while (digits < most_digits && digits < text.size() && is_digit(text[text.size() - 1 - digits])) ++digits;
  return digits;
}

std::string already(std::string_view text, int line) {
  return fmt::format("{}, which line {} declares already", quoted(text), line);
}
constexpr std::string_view once = "every name once in its scope";

}  // namespace

std::string Names::resolved(std::string_view text, int renamed) {
  return renamed == 0 ? std::string(text) : fmt::format("{}#{}", text, renamed + 1);
}

void Names::begin_function(Function& function) {
  function_ = &function;
  taken_ = {};  // clear() would cost as much as the largest function before
  enter(function.line);
}

void Names::end_function() {
  leave();
  function_ = nullptr;
}

void Names::enter(int line) {
  if (scopes_.size() > deepest_scope)
    fail_at(line, fmt::format("a block nested deeper than {} others", deepest_scope),
            fmt::format("at most {} levels of {{ }}", deepest_scope));
  Scope scope;
  scope.deepest_range = scopes_.back().deepest_range;
  scopes_.push_back(std::move(scope));
}

bool Names::settle(const LabelUse& use) {
  const auto found = bound_.find(use.name);
  if (found == bound_.end() || found->second.empty()) return false;
  const Bound& bound = found->second.back();
  if (bound.depth != depth() || bound.name.kind != Name::Kind::label) return false;
  const auto owner = static_cast<std::size_t>(use.owner), entry = static_cast<std::size_t>(use.entry);
  if (use.is_table)
    function_->branch_tables[owner].targets[entry] = bound.name.index;
  else
    function_->instructions[owner].operands[entry].index = bound.name.index;
  return true;
}

void Names::leave() {
  std::vector<LabelUse> rest;
  for (const LabelUse& use : scopes_.back().uses) {
    if (!settle(use)) rest.push_back(use);
  }
  for (const std::string_view name : scopes_.back().names) bound_[name].pop_back();
  for (const std::string_view prefix : scopes_.back().ranges) ranges_[prefix].pop_back();
  scopes_.pop_back();
  if (scopes_.size() > 1) {
    auto& outer = scopes_.back().uses;
    outer.insert(outer.end(), rest.begin(), rest.end());
    return;
  }
  if (rest.empty()) return;
  const auto first = std::ranges::min_element(
      rest, [](const LabelUse& one, const LabelUse& two) { return one.line < two.line; });
  fail_at(first->line, "the label " + quoted(first->name) + ", which this function does not have",
          "a label of the same block or of one around it");
}

Name Names::declare(const Token& token, Name name) {
  std::vector<Bound>& bound = bound_[token.text];
  if (!bound.empty() && bound.back().depth == depth())
    fail_at(token.line, already(token.text, bound.back().name.line), once);
  demand_outside_ranges(token);
  name.line = token.line;
  if (function_ != nullptr && name.kind != Name::Kind::label)
    name.renamed = taken_[token.text]++ + (find_in_module(token.text) != nullptr ? 1 : 0);
  bound.push_back({name, depth()});
  scopes_.back().names.push_back(token.text);
  return name;
}

const Name* Names::find_in_module(std::string_view text) const {
  const auto found = bound_.find(text);
  if (found == bound_.end() || found->second.empty() || found->second.front().depth != 1) return nullptr;
  return &found->second.front().name;
}

int Names::add_register(std::string_view text, int renamed, Type type) {
  function_->registers.push_back({resolved(text, renamed), type});
  return static_cast<int>(function_->registers.size()) - 1;
}

void Names::declare_registers(const Token& token, Type type, int elements) {
  const Name name = declare(token, {.kind = elements == 1 ? Name::Kind::reg : Name::Kind::registers,
                                    .elements = static_cast<std::uint8_t>(elements),
                                    .index = static_cast<int>(function_->registers.size())});
  const std::size_t digits = digits_at_end(token.text);
  if (const auto parts = split(token.text, digits); digits > 0 && parts && parts->number < ~0U) {
    Range& range = range_here(parts->prefix);
    range.least_single = std::min(range.least_single, parts->number);
    range.line = range.count == 0 ? token.line : range.line;
  }
  if (elements == 1) {
    add_register(token.text, name.renamed, type);
    return;
  }
  for (int element = 0; element < elements; ++element) {
    const int index = add_register(token.text, name.renamed, type);
    function_->registers[index].name += fmt::format(".{}", "xyzw"[element]);
  }
}

Names::Range& Names::range_here(std::string_view prefix) {
  std::vector<Range>& ranges = ranges_[prefix];
  if (ranges.empty() || ranges.back().depth != depth()) {
    ranges.push_back({Type::none, 0, depth(), 0, ~0U});
    scopes_.back().ranges.push_back(prefix);
  }
  return ranges.back();
}

void Names::declare_range(const Token& prefix, Type type, std::uint32_t count) {
  Range& range = range_here(prefix.text);
  if (range.count != 0 || range.least_single < count)
    fail_at(prefix.line, already(std::string(prefix.text) + "<...>", range.line), once);
  range.type = type;
  range.count = count;
  range.line = prefix.line;
  scopes_.back().deepest_range = depth();
}

void Names::demand_outside_ranges(const Token& token) {
  if (scopes_.back().deepest_range != depth()) return;
  for (std::size_t digits = digits_at_end(token.text); digits > 0; --digits) {
    const auto parts = split(token.text, digits);
    if (!parts) continue;
    const auto found = ranges_.find(parts->prefix);
    if (found == ranges_.end() || found->second.empty()) continue;
    const Range& range = found->second.back();
    if (range.depth == depth() && parts->number < range.count)
      fail_at(token.line, already(token.text, range.line), once);
  }
}

const Name* Names::make_from_range(const Token& token, std::size_t least_depth) {
  const Range* best = nullptr;
  for (std::size_t digits = digits_at_end(token.text); digits > 0; --digits) {
    const auto parts = split(token.text, digits);
    if (!parts) continue;
    const auto found = ranges_.find(parts->prefix);
    if (found == ranges_.end()) continue;
    const auto range = std::find_if(found->second.rbegin(), found->second.rend(),
                                    [&](const Range& each) { return parts->number < each.count; });
    if (range == found->second.rend() || range->depth <= least_depth) continue;
    if (best != nullptr && best->depth == range->depth)
      fail_at(token.line,
              fmt::format("{}, which the ranges of lines {} and {} both declare", quoted(token.text),
                          best->line, range->line),
              once);
    if (best == nullptr || best->depth < range->depth) best = &*range;
  }
  if (best == nullptr) return nullptr;
  Name name{.line = best->line, .renamed = taken_[token.text]++};
  name.index = add_register(token.text, name.renamed, best->type);
  std::vector<Bound>& bound = bound_[token.text];
  bound.push_back({name, best->depth});
  scopes_[best->depth - 1].names.push_back(token.text);
  return &bound.back().name;
}

const Name* Names::find(const Token& token) {
  const auto found = bound_.find(token.text);
  const Bound* const best = found == bound_.end() || found->second.empty() ? nullptr : &found->second.back();
  const std::size_t best_depth = best == nullptr ? 0 : best->depth;
  if (scopes_.back().deepest_range > best_depth) {
    if (const Name* const made = make_from_range(token, best_depth)) return made;
  }
  return best == nullptr ? nullptr : &best->name;
}

}  // namespace weft::simulator::ptx
