// Real pruned matrices of a folder, found by shape and sparsity.
#pragma once

#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft {

/// The .smtx and two- or four-dimensional .npy weights below a folder. What cannot be read, and what is not
/// pruned, is left out.
class RealWeights {
 public:
  RealWeights() = default;
  /// Reads the headers of the .smtx files and all of the .npy files. UserError when `folder` is no folder.
  explicit RealWeights(const std::string& folder);

  struct Entry {
    std::string path;  ///< with the folder
    std::string name;  ///< below the folder, for people
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    double sparsity = 0;
    bool has_values = false;
  };
  const std::vector<Entry>& entries() const { return entries_; }

  /// The best entry of this shape whose sparsity is within 0.0125: trained values before positions alone,
  /// pruned by magnitude before other methods, then the nearest sparsity, then the name. Null when there is
  /// none.
  const Entry* find(std::int64_t rows, std::int64_t columns, double sparsity) const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace weft
