#include <weft/backends/cuda/ptxas_report.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace weft::cuda {
namespace {

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// The number that stands right before `words`: 352 in "352 bytes stack frame" for " bytes stack frame".
std::optional<std::size_t> number_before(std::string_view line, std::string_view words) {
  const auto place = line.find(words);
  if (place == std::string_view::npos) return std::nullopt;
  auto begin = place;
  while (begin > 0 && line[begin - 1] >= '0' && line[begin - 1] <= '9') --begin;
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(line.data() + begin, line.data() + place, value);
  if (error != std::errc() || end != line.data() + place) return std::nullopt;
  return value;
}

/// What follows `words` up to `stop`, or to the end of the line.
std::optional<std::string_view> text_after(std::string_view line, std::string_view words,
                                           std::string_view stop) {
  const auto place = line.find(words);
  if (place == std::string_view::npos) return std::nullopt;
  const std::string_view rest = line.substr(place + words.size());
  return rest.substr(0, stop.empty() ? rest.size() : rest.find(stop));
}

FunctionResources& entry_of(PtxasReport& report, std::string_view name) {
  for (FunctionResources& known : report.functions) {
    if (known.function == name) return known;
  }
  report.functions.push_back({});
  report.functions.back().function = name;
  return report.functions.back();
}

void read_properties(std::string_view line, FunctionResources& resources) {
  if (const auto bytes = number_before(line, " bytes stack frame")) resources.stack_bytes = *bytes;
  if (const auto bytes = number_before(line, " bytes spill stores")) resources.spill_store_bytes = *bytes;
  if (const auto bytes = number_before(line, " bytes spill loads")) resources.spill_load_bytes = *bytes;
}

void read_usage(std::string_view line, FunctionResources& resources) {
  if (const auto count = number_before(line, " registers")) resources.registers = static_cast<int>(*count);
  if (const auto count = number_before(line, " barriers")) resources.barriers = static_cast<int>(*count);
  if (const auto bytes = number_before(line, " bytes smem")) resources.shared_bytes = *bytes;
  if (const auto bytes = number_before(line, " bytes cmem[0]")) resources.constant_bytes = *bytes;
}

/// "(C7517) text" anywhere in the line.
std::optional<Note> note_in(std::string_view line) {
  for (auto place = line.find("(C"); place != std::string_view::npos; place = line.find("(C", place + 1)) {
    const auto end = line.find(')', place);
    if (end == std::string_view::npos || end < place + 4) continue;
    const std::string_view code = line.substr(place + 1, end - place - 1);
    const bool is_number =
        std::all_of(code.begin() + 1, code.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number) continue;
    const auto text = line.find_first_not_of(' ', end + 1);
    return Note{std::string(code),
                text == std::string_view::npos ? std::string() : std::string(line.substr(text))};
  }
  return std::nullopt;
}

/// The line number in "ptxas file.ptx, line 47; error : ...".
std::optional<std::size_t> line_number_in(std::string_view line) {
  const auto place = line.find(", line ");
  if (place == std::string_view::npos) return std::nullopt;
  std::size_t value = 0;
  const char* begin = line.data() + place + 7;
  const auto [end, error] = std::from_chars(begin, line.data() + line.size(), value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

PtxasReport read_ptxas_report(std::string_view text) {
  PtxasReport report;
  std::string current;  // the function whose properties come next
  std::string kernel;   // the kernel whose usage comes next
  for (const std::string_view line : lines_of(text)) {
    if (auto note = note_in(line)) {
      report.notes.push_back(*std::move(note));
    } else if (const auto name = text_after(line, "Compiling entry function '", "'")) {
      kernel = current = *name;
      entry_of(report, kernel);
    } else if (const auto linked = text_after(line, "Function properties for '", "'")) {
      kernel = current = *linked;
    } else if (const auto function = text_after(line, "Function properties for ", "")) {
      current = *function;
    } else if (line.find(" bytes stack frame") != std::string_view::npos && !current.empty()) {
      read_properties(line, entry_of(report, current));
    } else if ((line.find(": Used ") != std::string_view::npos ||
                line.find(": used ") != std::string_view::npos) &&
               !kernel.empty()) {
      read_usage(line, entry_of(report, kernel));
    } else if (const auto warning = text_after(line, "warning ", "")) {
      report.warnings.emplace_back(
          warning->substr(std::min(warning->size(), warning->find_first_not_of(" :"))));
    }
  }
  return report;
}

FunctionResources PtxasReport::worst() const {
  FunctionResources all;
  for (const FunctionResources& one : functions) {
    if (one.registers >= all.registers) all.function = one.function;
    all.registers = std::max(all.registers, one.registers);
    all.barriers = std::max(all.barriers, one.barriers);
    all.stack_bytes = std::max(all.stack_bytes, one.stack_bytes);
    all.spill_store_bytes = std::max(all.spill_store_bytes, one.spill_store_bytes);
    all.spill_load_bytes = std::max(all.spill_load_bytes, one.spill_load_bytes);
    all.shared_bytes = std::max(all.shared_bytes, one.shared_bytes);
    all.constant_bytes = std::max(all.constant_bytes, one.constant_bytes);
  }
  return all;
}

const FunctionResources* PtxasReport::find(std::string_view function) const {
  const auto place =
      std::ranges::find_if(functions, [&](const FunctionResources& r) { return r.function == function; });
  return place == functions.end() ? nullptr : &*place;
}

std::string explain_ptxas_errors(std::string_view text, std::string_view ptx) {
  constexpr int most_errors = 5;
  const auto source = lines_of(ptx);
  std::string explained;
  int errors = 0;
  for (const std::string_view line : lines_of(text)) {
    const auto number = line_number_in(line);
    const auto kind = line.find("; ");
    const bool is_error =
        number && kind != std::string_view::npos &&
        (line.substr(kind + 2).starts_with("error") || line.substr(kind + 2).starts_with("fatal"));
    if (!is_error || ++errors > most_errors) continue;
    const auto message = text_after(line.substr(kind), ": ", "");
    explained += "  line " + std::to_string(*number) + ": " + std::string(message.value_or(line)) + "\n";
    if (*number >= 1 && *number <= source.size())
      explained += "    | " + std::string(source[*number - 1]) + "\n";
  }
  if (errors > most_errors) explained += "  and " + std::to_string(errors - most_errors) + " more\n";
  return explained.empty() ? std::string(text) : explained;
}

}  // namespace weft::cuda
