// A weight packed into a format: named arrays, and the levels that say how to walk them.
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/array.h>
#include <weft/formats/format.h>
#include <weft/formats/level.h>
#include <weft/formats/weight_matrix.h>

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// One weight in one format. Values of arrays are fixed once packed; the class holds them, checks them and
/// walks them. Index arrays are i32; coordinates may be i16, those inside blocks or windows are u8.
class SparseTensor {
 public:
  struct NamedArray {
    std::string name;  ///< "begin", "column", "values", …: what the program calls `A.begin`
    Array array;
  };

  /// Used by the formats' pack functions. `levels` from the outermost. Of a tensor that is made by hand
  /// nothing is believed: schedule(), which compiles what it says into addresses, checks it.
  SparseTensor(Format format, std::vector<std::int64_t> shape, std::int64_t rows, std::int64_t columns,
               std::vector<Level> levels, std::vector<NamedArray> arrays, ValueOrder value_order = {});

  WEFT_NOT_MADE_OF(SparseTensor, "SparseTensor tensor = pack(weights, formats::csr());")

  const Format& format() const { return format_; }
  /// The weight's own: [F, C, R, S] for a filter.
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  DType dtype() const { return array("values").dtype(); }
  const std::vector<Level>& levels() const { return levels_; }
  const std::vector<NamedArray>& arrays() const { return arrays_; }
  const ValueOrder& value_order() const { return value_order_; }
  bool has_array(const std::string& name) const;
  /// UserError that lists the arrays when there is none of that name.
  const Array& array(const std::string& name, CallPlace place = {}) const;
  std::size_t bytes() const;  ///< size of all arrays together

  /// The number of levels at the front that choose the row, all others staying inside one row; 0 where the
  /// format does not store row by row (csc, coo).
  std::size_t row_levels() const;
  /// The array that tells which row is stored first, second, …: every row once, and -1 where the last group
  /// of rows is not full. Nothing where rows are stored as they come.
  std::optional<std::string> row_order() const;
  /// Calls `visit(row, column, place in values)` for every stored place, padding left out; the zeros that
  /// fill up blocks are stored like any value. The place is that in memory. What did not come from `pack` has
  /// to pass `check` first: walking trusts the arrays.
  void walk(const std::function<void(std::int64_t, std::int64_t, std::int64_t)>& visit) const;
  /// Zeros filled in, shape [rows, columns].
  Array to_dense() const;
  /// Throws UserError that names the row, the array and the place when sizes do not fit together, when
  /// offsets decrease or leave the arrays, when a coordinate is out of range, when a code does not name two
  /// slots in ascending order, when a place is stored twice, when a row order is no permutation, when rows
  /// are left out, when the value of padding is not +0, when the levels and arrays are not those that the
  /// format of that name has, or what the format itself has to say (NamedFormat::check). Costs once: a tensor
  /// that has been found right, as all that come from pack have, stays so.
  void check(CallPlace place = {}) const;
  /// What repack() makes of it, made once for each format and kept as long as this tensor: searches ask for
  /// the tiles of one weight again and again. Several threads may ask. UserError as from repack.
  std::shared_ptr<const SparseTensor> repacked(const Format& format) const;

 private:
  /// Set once for all copies that are made later; several threads may.
  class Found {
   public:
    Found() = default;
    Found(const Found& other) : right_(other.right()) {}
    Found(Found&& other) noexcept : right_(other.right_.exchange(false)) {}
    Found& operator=(Found other) noexcept {
      right_ = other.right();
      return *this;
    }
    ~Found() = default;
    bool right() const { return right_; }
    void set_right() { right_ = true; }

   private:
    std::atomic<bool> right_ = false;
  };

  /// Copies of a tensor make their own.
  class Repacked {
   public:
    Repacked() = default;
    Repacked(const Repacked&) noexcept {}
    Repacked& operator=(const Repacked&) noexcept {
      made_.clear();
      return *this;
    }
    ~Repacked() = default;
    std::shared_ptr<const SparseTensor> in(const Format& format, const SparseTensor& tensor);

   private:
    struct Made {
      std::once_flag once;
      std::shared_ptr<const SparseTensor> tensor;
    };
    std::mutex guard_;
    std::map<std::string, std::shared_ptr<Made>> made_;
  };

  friend SparseTensor pack(const WeightMatrix& weights, const Format& format, CallPlace place);
  friend std::shared_ptr<const SparseTensor> pack(std::shared_ptr<const WeightMatrix> weights,
                                                  const Format& format, CallPlace place);
  friend SparseTensor repack(const SparseTensor& tensor, const Format& format, CallPlace place);
  /// `check` without the comparison with what pack makes.
  void check_entries() const;

  Format format_;
  std::vector<std::int64_t> shape_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::vector<Level> levels_;
  std::vector<NamedArray> arrays_;
  ValueOrder value_order_;
  std::shared_ptr<const WeightMatrix> source_;  ///< what it was packed from, where that is kept
  mutable Found found_;
  mutable Repacked repacked_;
};

/// Packs a weight. UserError when the weight does not fit the format (2^31 entries or more, or what the
/// format itself demands). What comes of it is right: check() believes it.
SparseTensor pack(const WeightMatrix& weights, const Format& format, CallPlace place = {});
/// The same, of weights that are kept with the tensor: repack() takes them, and need not look for entries.
std::shared_ptr<const SparseTensor> pack(std::shared_ptr<const WeightMatrix> weights, const Format& format,
                                         CallPlace place = {});
WEFT_CALL_REFUSED(SparseTensor, pack,
                  "pack(weights, formats::csr()): weights as read() or synthetic_layer() give them, then a "
                  "format, which has its ( )")
/// Always refused: a text is no format yet.
template <std::convertible_to<std::string_view> Text>
SparseTensor pack(const WeightMatrix& weights, const Text&, CallPlace place = {}) {
  static_assert(!std::convertible_to<const Text&, std::string_view>,
                "weft: weights are packed with a text; accepted: formats::csr(), or of a text "
                "parse_format(\"shfl_bw:V=64\"), in its place");
  return pack(weights, Format(), place);
}

/// The same entries, explicit zeros included, in another format. UserError as from pack.
SparseTensor repack(const SparseTensor& tensor, const Format& format, CallPlace place = {});

}  // namespace weft
