#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/dsl/errors.h>
#include <weft/formats/io/file_and_tensor.h>
#include <weft/search/tool/given_files.h>
#include <weft/search/tool/options.h>

#include <algorithm>
#include <array>
#include <filesystem>

namespace weft::tool {
namespace {

namespace fs = std::filesystem;

/// A file that weft or its user writes, and what reads it.
struct OwnFile {
  std::string_view mark;   ///< stands in its text
  std::string_view found;  ///< what it is
  std::string_view use;    ///< the call that reads it, before its path
};
constexpr std::array<OwnFile, 6> own_files{
    {{"\"weft_best\"", "the schedule that weft tune found", "weft run --schedule"},
     {"\"step\"", "the steps of a schedule", "weft run --schedule"},
     {"\"weftdb\"", "a database of trials", "weft db best"},
     {"\"weft_network\"", "the layers of a network", "weft model inspect"},
     {"\"weft_tree\"", "a predictor", "weft predict --tree"},  // it counts its problems, too
     {"\"problems\"", "a suite of problems", "weft bench --suite"}}};

/// Nothing for other files, and for those that cannot be read, of which their reader tells.
const OwnFile* own_file_at(const std::string& path) {
  std::error_code none;
  const bool may_be = path.ends_with(".json") || path.ends_with(".jsonl");
  if (!may_be || path.ends_with(".safetensors.index.json") || !fs::is_regular_file(path, none))
    return nullptr;
  const std::string text = text_of_file(path);
  for (const OwnFile& one : own_files) {
    if (text.find(one.mark) != std::string::npos) return &one;
  }
  return nullptr;
}

}  // namespace

void require_place_for(const std::string& option, const std::string& path) {
  const auto refuse = [&](const std::string& found) {
    return UserError("a file cannot be written", option + " " + path, found,
                     "the path of a file in a folder that is there");
  };
  std::error_code error;
  const fs::file_status there = fs::status(path, error);
  if (!fs::status_known(there)) throw refuse(error.message());
  if (there.type() == fs::file_type::directory) throw refuse("a folder");
  const fs::path folder = fs::path(path).parent_path();
  if (!folder.empty() && !fs::is_directory(folder, error)) throw refuse("no folder " + folder.string());
}

void require_ending(const std::string& option, const std::string& path, std::string_view what,
                    const std::vector<std::string_view>& endings) {
  const std::string ending = fs::path(path).extension().string();
  if (ending.empty() || std::ranges::find(endings, ending) != endings.end()) return;
  throw UserError(std::string(what), option, path,
                  fmt::format("a name that ends with {}", fmt::join(endings, " or ")));
}

void require_apart_from(const std::string& option, const std::string& path,
                        const std::vector<ReadFile>& read) {
  const fs::path given(path);
  std::error_code none;
  for (const ReadFile& one : read) {
    if (path.empty() || one.path.empty()) continue;
    const std::string file = file_and_tensor(one.path).file;
    // Two files that are not there yet are the same one by their path alone.
    if (!fs::equivalent(given, file, none) &&
        fs::weakly_canonical(given, none) != fs::weakly_canonical(file, none))
      continue;
    const fs::path other =
        given.parent_path() / (given.stem().string() + "_new" + given.extension().string());
    throw UserError("a file that is read would be overwritten", option + " " + path,
                    fmt::format("{} {}, the same file", one.option, one.path),
                    fmt::format("another file, such as {} {}", option, other.string()));
  }
}

std::vector<ReadFile> files_read(std::string_view option, const std::vector<std::string>& paths) {
  std::vector<ReadFile> files;
  for (const std::string& path : paths) files.push_back({option, path});
  return files;
}

void refuse_other_file_for_weights(const std::string& option, const std::string& path,
                                   const std::string& schedule) {
  const OwnFile* own = own_file_at(path);
  if (own == nullptr) return;
  const bool exchanged =
      own->use.ends_with("--schedule") && !schedule.empty() && !schedule.ends_with(".json");
  throw UserError(
      "a file that holds no weights is given as weights", option + " " + path, std::string(own->found),
      exchanged ? fmt::format("--weights {} --schedule {}, the two exchanged", schedule, path)
                : fmt::format("a .smtx .mtx .npy .npz .onnx .safetensors file; {} {} reads this one",
                              own->use, path));
}

void refuse_own_file(const std::string& option, const std::string& path, const std::string& accepted) {
  const OwnFile* own = own_file_at(path);
  if (own == nullptr || own->use.ends_with(option)) return;
  throw UserError("a file of another kind is given", option + " " + path, std::string(own->found),
                  fmt::format("{}; {} {} reads this one", accepted, own->use, path));
}

}  // namespace weft::tool
