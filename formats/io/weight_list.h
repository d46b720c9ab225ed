// Which weights a path holds, told from headers alone, and what one pass over the bytes of a weight tells.
#pragma once

#include <weft/dsl/errors.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace weft {

/// A weight of a path, not yet read: read(path, {.tensor = tensor}) reads it.
struct ListedWeight {
  std::string path = {};                 ///< the file, or the index of its shards
  std::string tensor = {};               ///< empty where the file has no names
  std::string dtype = {};                ///< as the file spells it, "F16"; empty where only reading tells
  std::vector<std::int64_t> shape = {};  ///< likewise
  /// "dense", "masked", "csr parts", "sparse-bitmask", "sparse-24-bitmask", "2:4 packed", "coordinate",
  /// "pattern", "scipy csr" and so on, "scale" of what multiplies or shifts another weight's rows; empty
  /// where nothing is known.
  std::string stored_as = {};
  std::uint64_t bytes = 0;  ///< in the file
  std::string fault = {};   ///< why it cannot be read, one sentence; empty where nothing is known against it

  /// Fewer than two dimensions, as biases, scales and counters have. Not so where only reading tells.
  bool is_vector() const {
    return shape.size() == 1 || is_scale() || (shape.empty() && stored_as == "dense");
  }
  bool is_scale() const { return stored_as == "scale"; }
};

/// All weights of a file (any of file_formats()), of an index of shards, or of a folder: by its index of
/// shards (`*.safetensors.index.json`) where it has one, else by all its files whose names end as those of
/// known formats do, folders inside it too, in the order of their names. What begins with a dot and links to
/// folders are passed over. Tensors of fewer than two dimensions are listed as well (who asks leaves them
/// out). Only headers are read.
///
/// A file or a shard that cannot be read (missing, cut off, header broken) does not end the list: its
/// tensors, as far as an index names them, else the file itself, are there with their fault. An index that is
/// itself broken is there with its fault, and so are the files of its folder.
///
/// UserError where there is nothing at the path, and for a single file of no known format.
std::vector<ListedWeight> list_weights(const std::string& path, CallPlace place = {});

/// What one pass over the bytes of a weight that is stored dense tells, with nothing kept.
struct WeightSurvey {
  std::int64_t elements = 0;
  std::int64_t zeros = 0;                          ///< -0.0 among them, as in WeightMatrix
  std::optional<std::int64_t> first_not_finite{};  ///< the number of that element, row-major
};

/// Nothing where the weight is not stored dense in .safetensors. No more memory is taken than the mapped
/// pages of this one tensor, which are given back at the end. UserError as read where it cannot be read.
std::optional<WeightSurvey> survey(const ListedWeight& weight, CallPlace place = {});

}  // namespace weft

namespace weft::io {

/// What `check` refuses of the weight or file `origin`, in one sentence; nothing where it refuses nothing.
std::string fault_of(const std::string& origin, const std::function<void()>& check);

}  // namespace weft::io
