#include <fmt/format.h>
#include <weft/backends/export/check.h>
#include <weft/backends/export/taken_names.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/simulated_target.h>

#include <algorithm>
#include <span>
#include <sstream>
#include <tuple>
#include <utility>

namespace weft {
namespace exporting {

bool takes(const Target& target) {
  return target.is_gpu() ? !is_simulated_only(target) : target.processor == target.name;
}

const Target* exported_target(const Kernel& kernel) {
  const std::string& name = kernel.target().is_gpu() ? kernel.target().name : kernel.processor();
  const auto found = std::ranges::find(targets(), name, &Target::name);
  return found != targets().end() && takes(*found) ? &*found : nullptr;
}

namespace {

constexpr std::size_t longest_name = 64;
constexpr std::size_t longest_license = 200;

/// The text in quotes, on one line and not too long.
std::string quoted(const std::string& text) {
  constexpr std::size_t most = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, most)) {
    if (c == '\n') result += "\\n";
    if (c >= ' ' || c < 0) result += c;
  }
  return result + (text.size() > most ? "…\"" : "\"");
}

/// A name like the one that was given which nothing means anything by.
std::string free_name(const std::string& name) {
  std::string like;
  for (const char c : name.substr(0, longest_name / 2)) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (fits) like += c;
    if (!fits && !like.empty() && like.back() != '_') like += '_';
  }
  while (!like.empty() && like.back() == '_') like.pop_back();
  if (!is_spelled_as_name(like)) return like.empty() ? "ffn_up" : "layer_" + like;
  return meaning_as_word(like).empty() && meaning_as_name(like).empty() ? like : like + "_layer";
}

void check_name(const std::string& name) {
  if (!is_spelled_as_name(name) || name.size() > longest_name)
    refuse(
        "the name of a package is no identifier", "export, name (--name)", quoted(name),
        fmt::format(
            "at most {} letters of English, digits and single underscores, beginning with a letter, such as "
            "{}",
            longest_name, free_name(name)));
  if (const std::string word = meaning_as_word(name); !word.empty())
    refuse("the name of a package is no identifier where it is used", "export, name (--name)",
           fmt::format("\"{}\", {}", name, word), "another name, such as " + free_name(name));
  if (const std::string owner = meaning_as_name(name); !owner.empty())
    refuse(fmt::format("the name of a package is taken: \"{}\" is {}", name, owner), "export, name (--name)",
           quoted(name), "another name, such as " + free_name(name));
}

/// Whether names of licences and operators take turns in the text, whatever parentheses say.
bool names_licenses(std::string text) {
  std::erase_if(text, [](char c) { return c == '(' || c == ')'; });
  std::istringstream words(text);
  std::size_t count = 0;
  for (std::string word; words >> word; ++count) {
    const bool is_operator = word == "AND" || word == "OR" || word == "WITH";
    if (is_operator != (count % 2 == 1)) return false;
  }
  return count % 2 == 1;
}

/// Nothing that could end a comment or a line, or begin a word of a template.
bool has_license_characters(const std::string& text) {
  return !text.empty() && text.size() <= longest_license && text.front() != ' ' &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  std::string_view(" .-+():").find(c) != std::string_view::npos;
         });
}

void check_license(const std::string& text) {
  if (!has_license_characters(text) || !names_licenses(text))
    refuse("the licence of a package is no SPDX expression", "export, licence (--spdx)", quoted(text),
           fmt::format("at most {} letters, digits, blanks and . - + ( ) :, such as MIT or Apache-2.0 OR "
                       "LicenseRef-own: names with AND, OR or WITH between them; "
                       "what else is to be said has its place in the file LICENSE",
                       longest_license));
}

void check_kernel(const PackageKernel& kernel, const std::string& where) {
  const Algorithm& algorithm = algorithm_of(kernel);
  if (exported_target(kernel.kernel) == nullptr)
    refuse("kernels for that target are not exported", where, kernel.kernel.target().name,
           "a kernel compiled for one of " + targets_taken());
  if (algorithm.sparse_operand() == nullptr || kernel.kernel.schedule().weights() == nullptr)
    refuse("only kernels of pruned weights are exported", where, algorithm.text() + ", all operands dense",
           "an algorithm with a sparse operand and its weights");
  if (algorithm.takes_any_weights())
    refuse("the kernel takes weights of any size", where, algorithm.sparse_operand()->name + " of open sizes",
           "fixed numbers of rows and columns: the package packs weights of one shape");
}

/// What one algorithm has and the other has not, their sizes apart; two empty texts where they agree.
std::pair<std::string, std::string> difference(const Algorithm& one, const Algorithm& other) {
  if (one.text() != other.text()) return {one.text(), other.text()};
  if (one.accumulator != other.accumulator)
    return {fmt::format("sums in {}", name_of(one.accumulator)),
            fmt::format("sums in {}", name_of(other.accumulator))};
  for (std::size_t i = 0; i < one.operands.size(); ++i) {
    const Operand& a = one.operands[i];
    const Operand& b = other.operands[i];
    if (a.dtype != b.dtype)
      return {fmt::format("{} of {}", a.name, name_of(a.dtype)),
              fmt::format("{} of {}", b.name, name_of(b.dtype))};
    if (a.storage != b.storage)
      return {a.name + (a.storage == Storage::sparse ? " pruned" : " dense"),
              b.name + (b.storage == Storage::sparse ? " pruned" : " dense")};
    if (a.strides != b.strides || a.shape.size() != b.shape.size())
      return {fmt::format("{} with strides [{}]", a.name, fmt::join(a.strides, ", ")),
              fmt::format("{} with strides [{}]", b.name, fmt::join(b.strides, ", "))};
  }
  return {};
}

/// An entry of the weights by its place in the matrix.
using Entry = std::pair<std::int64_t, double>;

/// All entries but zeros, by place.
std::vector<Entry> entries_of(const SparseTensor& weights) {
  std::vector<Entry> entries;
  const Array& values = weights.array("values");
  weights.walk([&](std::int64_t row, std::int64_t column, std::int64_t place) {
    if (const double value = values.get(place); value != 0)
      entries.emplace_back(row * weights.columns() + column, value);
  });
  std::ranges::sort(entries, {}, &Entry::first);
  return entries;
}

bool same_entry(const Entry& a, const Entry& b) {
  return a.first == b.first && (a.second == b.second || (a.second != a.second && b.second != b.second));
}

/// Whether they are the same to the byte, of one format: most are, and that is seen at once.
bool same_arrays(const SparseTensor& one, const SparseTensor& other) {
  return one.format() == other.format() &&
         std::ranges::equal(one.arrays(), other.arrays(), [](const auto& a, const auto& b) {
           const auto bytes = [](const Array& array) { return std::span(array.data(), array.bytes()); };
           return a.name == b.name && a.array.shape() == b.array.shape() &&
                  std::ranges::equal(bytes(a.array), bytes(b.array));
         });
}

/// What stands at the first place where the matrices differ: in the one, and in the other.
std::pair<std::string, std::string> difference(const SparseTensor& one, const SparseTensor& other) {
  const auto size = [](const SparseTensor& weights) {
    return fmt::format("{} x {} of {}", weights.rows(), weights.columns(), name_of(weights.dtype()));
  };
  if (size(one) != size(other)) return {"weights of " + size(one), "weights of " + size(other)};
  if (same_arrays(one, other)) return {};
  const std::vector<Entry> a = entries_of(one);
  const std::vector<Entry> b = entries_of(other);
  const auto [at, there] = std::mismatch(a.begin(), a.end(), b.begin(), b.end(), same_entry);
  if (at == a.end() && there == b.end()) return {};
  const std::int64_t place =
      there == b.end() || (at != a.end() && at->first < there->first) ? at->first : there->first;
  const auto value = [&](auto entry, const std::vector<Entry>& list) {
    return entry != list.end() && entry->first == place ? fmt::format("{}", entry->second) : std::string("0");
  };
  const std::string position =
      fmt::format(" in row {}, column {}", place / one.columns(), place % one.columns());
  return {value(at, a) + position, value(there, b) + position};
}

}  // namespace

std::string targets_taken() {
  std::string text;
  for (const Target& target : targets())
    if (takes(target)) text += (text.empty() ? "" : ", ") + target.name;
  return text;
}

void refuse(std::string what, std::string where, std::string found, std::string accepted) {
  throw UserError(std::move(what), std::move(where), std::move(found), std::move(accepted));
}

std::string place_of(const std::vector<PackageKernel>& kernels, const PackageKernel& kernel) {
  return fmt::format("export, kernel {} ({} for {})", &kernel - kernels.data() + 1, algorithm_of(kernel).name,
                     kernel.kernel.target().name);
}

void check_kernels(const std::vector<PackageKernel>& kernels) {
  if (kernels.empty()) refuse("a package has no kernel", "export", "nothing", "at least one kernel");
  for (const PackageKernel& kernel : kernels) check_kernel(kernel, place_of(kernels, kernel));
  const PackageKernel& first = kernels.front();
  const SparseTensor& weights = *first.kernel.schedule().weights();
  std::vector<const SparseTensor*> compared{&weights};
  for (const PackageKernel& kernel : kernels) {
    auto [found, first_has] = difference(algorithm_of(kernel), algorithm_of(first));
    if (!found.empty())
      refuse("the kernels of a package compute different things", place_of(kernels, kernel),
             fmt::format("{}, where kernel 1 has {}", found, first_has),
             "the same algorithm in all kernels, sizes apart; or a package for each algorithm");
    const SparseTensor* own = kernel.kernel.schedule().weights();
    if (std::ranges::find(compared, own) != compared.end()) continue;
    compared.push_back(own);
    std::tie(found, first_has) = difference(*own, weights);
    if (!found.empty())
      refuse("the kernels of a package have different weights", place_of(kernels, kernel),
             fmt::format("{} ({}), where kernel 1 has {} ({})", found, own->format().text(), first_has,
                         weights.format().text()),
             "the same weights in all kernels, in whatever formats; or a package for each layer");
  }
}

}  // namespace exporting

void check_export_options(const ExportOptions& options, CallPlace place) {
  user_call(place, [&] {
    exporting::check_name(options.name);
    exporting::check_license(options.spdx);
  });
}

}  // namespace weft
