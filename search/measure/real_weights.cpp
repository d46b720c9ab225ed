#include <weft/dsl/errors.h>
#include <weft/formats/io/read.h>
#include <weft/search/measure/real_weights.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <tuple>

namespace weft {
namespace {

namespace fs = std::filesystem;

// A shape is two numbers, not a file of any size: a .npy beyond this is no layer of a suite.
constexpr std::uintmax_t most_bytes = std::uintmax_t{256} << 20U;
constexpr double tolerance_of_sparsity = 0.0125;

/// "rows, columns, stored" of the first line.
std::optional<RealWeights::Entry> from_smtx(const std::string& path) {
  std::ifstream file(path);
  std::string line(128, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(file.gcount());
  long long rows = 0;
  long long columns = 0;
  long long stored = 0;
  if (std::sscanf(line.c_str(), "%lld , %lld , %lld", &rows, &columns, &stored) != 3 || rows < 1 ||
      columns < 1 || stored < 0)
    return std::nullopt;
  RealWeights::Entry entry;
  entry.rows = rows;
  entry.columns = columns;
  entry.sparsity =
      1 - static_cast<double>(stored) / (static_cast<double>(rows) * static_cast<double>(columns));
  return entry;
}

std::optional<RealWeights::Entry> from_npy(const fs::directory_entry& file) {
  std::error_code error;
  if (file.file_size(error) > most_bytes || error) return std::nullopt;
  try {
    const WeightMatrix matrix = read(file.path().string());
    if (matrix.shape.size() < 2) return std::nullopt;
    RealWeights::Entry entry;
    entry.rows = matrix.rows;
    entry.columns = matrix.columns;
    entry.sparsity = matrix.sparsity();
    entry.has_values = true;
    return entry;
  } catch (const UserError&) {
    return std::nullopt;
  } catch (const RuntimeError&) {
    return std::nullopt;
  }
}

}  // namespace

RealWeights::RealWeights(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw UserError("there is no folder of weights", folder, "no such folder",
                    "a folder with .smtx and .npy files");
  constexpr auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder, options)) {
    if (!file.is_regular_file(error)) continue;
    const std::string extension = file.path().extension().string();
    std::optional<Entry> entry;
    if (extension == ".smtx") entry = from_smtx(file.path().string());
    if (extension == ".npy") entry = from_npy(file);
    if (!entry || entry->sparsity < 0.1) continue;
    entry->path = file.path().string();
    entry->name = file.path().lexically_relative(folder).string();
    entries_.push_back(std::move(*entry));
  }
  std::ranges::sort(entries_, [](const Entry& a, const Entry& b) { return a.name < b.name; });
}

const RealWeights::Entry* RealWeights::find(std::int64_t rows, std::int64_t column_count,
                                            double sparsity) const {
  const auto rank = [&](const Entry& entry) {
    const bool by_magnitude = entry.name.find("magnitude_pruning") != std::string::npos;
    return std::tuple(!entry.has_values, !by_magnitude, std::abs(entry.sparsity - sparsity));
  };
  const Entry* best = nullptr;
  for (const Entry& entry : entries_) {
    if (entry.rows != rows || entry.columns != column_count ||
        std::abs(entry.sparsity - sparsity) > tolerance_of_sparsity)
      continue;
    if (best == nullptr || rank(entry) < rank(*best)) best = &entry;
  }
  return best;
}

}  // namespace weft
