#include <weft/formats/io/file.h>
#include <weft/formats/io/read.h>
#include <weft/formats/io/weight_list.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view index_ending = ".safetensors.index.json";

/// What `list` gives; the file itself with its fault where that is refused.
std::vector<ListedWeight> list_or_fault(const std::string& path,
                                        const std::function<std::vector<ListedWeight>()>& list) {
  std::vector<ListedWeight> weights;
  const std::string fault = io::fault_of(path, [&] { weights = list(); });
  if (fault.empty()) return weights;
  std::error_code error;
  const std::uintmax_t bytes = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  return {{.path = path, .bytes = error ? 0 : bytes, .fault = fault}};
}

std::vector<ListedWeight> list_file(const std::string& path) {
  const io::File file(path);
  const FileFormat& format = file_format_of(file.bytes(), path);
  return list_or_fault(path, [&] { return format.list(file.bytes(), path); });
}

bool has_known_ending(const std::string& name) {
  return std::ranges::any_of(file_formats(), [&](const FileFormat& format) {
    return std::ranges::any_of(format.extensions,
                               [&](std::string_view extension) { return name.ends_with(extension); });
  });
}

/// What stands in a folder, by name.
std::vector<fs::path> entries_of(const std::string& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!entry->path().filename().string().starts_with('.')) entries.push_back(entry->path());
  }
  if (error) throw UserError("cannot read " + folder, error.message(), "a folder that can be read");
  std::ranges::sort(entries);
  return entries;
}

void append(std::vector<ListedWeight>& weights, std::vector<ListedWeight> more) {
  std::ranges::move(more, std::back_inserter(weights));
}

std::vector<ListedWeight> list_folder(const std::string& folder) {
  const std::vector<fs::path> entries = entries_of(folder);
  std::vector<ListedWeight> weights;
  const auto is_index = [](const fs::path& path) { return path.string().ends_with(index_ending); };
  for (const fs::path& index : entries) {
    if (is_index(index))
      append(weights, list_or_fault(index.string(), [&] { return list_file(index.string()); }));
  }
  // An index that names tensors tells of the whole folder.
  if (std::ranges::any_of(weights, [](const ListedWeight& weight) { return !weight.tensor.empty(); }))
    return weights;
  for (const fs::path& entry : entries) {
    const std::string path = entry.string();
    std::error_code ignored;
    // A link to a folder may lead back to where the walk came from.
    if (fs::is_directory(entry, ignored) && !fs::is_symlink(entry, ignored)) {
      append(weights, list_or_fault(path, [&] { return list_folder(path); }));
    } else if (!fs::is_regular_file(entry, ignored) || !has_known_ending(path) || is_index(entry)) {
      continue;
    } else if (fs::is_empty(entry, ignored)) {
      weights.push_back({.path = path, .fault = "an empty file"});
    } else {
      append(weights, list_or_fault(path, [&] { return list_file(path); }));
    }
  }
  return weights;
}

}  // namespace

std::vector<ListedWeight> list_weights(const std::string& path, CallPlace place) {
  return user_call(place, [&] {
    std::error_code ignored;
    return fs::is_directory(path, ignored) ? list_folder(path) : list_file(path);
  });
}

}  // namespace weft

namespace weft::io {

std::string fault_of(const std::string& origin, const std::function<void()>& check) {
  try {
    check();
    return {};
  } catch (const UserError& error) {
    const UserError::Report& report = error.report();
    std::string text;
    const auto add = [&](const std::string& part, std::string_view before) {
      if (!part.empty() && !text.empty()) text += before;
      text += part;
    };
    // Who reads the fault knows what it is the fault of.
    if (report.what != "cannot read " + origin) add(report.what, {});
    add(report.where, ": ");
    add(report.found, ": ");
    add(report.accepted, "; accepted: ");
    return text;
  } catch (const RuntimeError& error) {
    return error.what();
  }
}

}  // namespace weft::io
