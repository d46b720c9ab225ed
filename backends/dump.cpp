#include <fmt/format.h>
#include <weft/backends/dump.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/print.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

namespace weft {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw RuntimeError("cannot write " + path.string() + " (WEFT_DUMP)");
}

}  // namespace

Dump::Dump(const std::string& kernel) {
  const char* root = std::getenv("WEFT_DUMP");
  if (root == nullptr || *root == '\0') return;
  folder_ = std::filesystem::path(root) / kernel;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  if (error)
    throw RuntimeError("cannot make the folder " + folder_.string() + " (WEFT_DUMP): " + error.message());
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
  if (std::filesystem::exists(file) && std::filesystem::exists(made) && read_text(made) == text)
    return read_text(file);
  write_text(made, text);
  write_text(file, text);
  return text;
}

}  // namespace weft
