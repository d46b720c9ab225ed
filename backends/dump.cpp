#include <fmt/format.h>
#include <weft/backends/dump.h>
#include <weft/backends/runtime/process.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>

#include <cstdlib>

namespace weft {
namespace {

/// Errors of `write` name the variable that asked for it.
template <class Write>
void for_variable(const Write& write) {
  try {
    write();
  } catch (const UserError& error) {
    const UserError::Report& report = error.report();
    throw UserError(report.what, "WEFT_DUMP", report.found, report.accepted);
  } catch (const RuntimeError& error) {
    throw RuntimeError(std::string(error.what()) + " (WEFT_DUMP)");
  }
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  for_variable([&] { write_bytes(path, text); });
}

}  // namespace

Dump::Dump(const std::string& kernel) {
  const char* root = std::getenv("WEFT_DUMP");
  if (root == nullptr || *root == '\0') return;
  folder_ = std::filesystem::path(root) / kernel;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error) for_variable([&] { refuse_path("make the folder", folder_.string(), error); });
}

void Dump::program(std::string_view name, const ir::Program& program) const {
  if (folder_.empty()) return;
  write_text(folder_ / fmt::format("{:02}_{}.txt", count_++, name), ir::print(program));
}

std::string Dump::edited(const std::string& name, std::string text) const {
  if (folder_.empty()) return text;
  // The text as weft made it is kept beside the file that people edit, so that an edit can be told from the
  // leftover of another program.
  const std::filesystem::path made = folder_ / (name + ".made");
  const std::filesystem::path file = folder_ / name;
  std::error_code ignored;
  if (std::filesystem::exists(file, ignored) && std::filesystem::exists(made, ignored) &&
      read_bytes(made) == text)
    return read_bytes(file);
  write_text(made, text);
  write_text(file, text);
  return text;
}

}  // namespace weft
