// HB-ELL: blocks with entries by block row. A block in ELL has in each of its rows as many places as its
// longest row has entries: `values`, and in `offset` their columns inside the block. Places left over hold
// +0, and as offset that of the row's last entry, 0 where it has none. A dense block is row-major, without
// offsets; the values of dense blocks stand behind those of all others, so that a value and its offset have
// one number. Entries that are +0 would look like padding and are left out.
//
// With one width for all and a step beyond 1, a block comes as several of one step, as many as the longest
// row of any asks for; each row fills one after the other.
#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/index_numbers.h>
#include <weft/formats/named/common.h>
#include <weft/formats/named/hb_ell_blocks.h>
#include <weft/formats/parallel.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::named {
namespace {

/// Where the values of each block begin, and of one behind the last.
std::vector<std::int64_t> begins_of(const HbEllBlocks& blocks) {
  std::vector<std::int64_t> begins;
  std::int64_t sparse = 0;
  std::int64_t dense = blocks.sparse_places();
  for (const std::int32_t width : blocks.width) {
    std::int64_t& next = width == blocks.size ? dense : sparse;
    begins.push_back(next);
    next += blocks.size * width;
  }
  begins.push_back(dense);
  return begins;
}

/// Writes the values and offsets of one block row after the other.
class BlockFilling {
 public:
  BlockFilling(const WeightMatrix& weights, const HbEllBlocks& blocks,
               const std::vector<std::int64_t>& begins, std::int64_t bits, Array& values, Array& offset)
      : weights_(weights),
        blocks_(blocks),
        begins_(begins),
        bits_(bits),
        width_(size_of(values.dtype())),
        values_(values),
        offset_(offset.as<std::uint8_t>()) {}

  void block_row(std::int64_t number) const {
    const std::int64_t end = std::min((number + 1) * blocks_.size, weights_.rows);
    for (std::int64_t row = number * blocks_.size; row < end; ++row) this->row(number, row);
  }

 private:
  void row(std::int64_t block_row, std::int64_t row) const {
    auto block = static_cast<std::size_t>(blocks_.row_begin[block_row]);
    std::int64_t last = -1;   // the column of the block before this entry's
    std::int64_t place = 0;   // where the next entry of this block goes
    std::int64_t behind = 0;  // the row's places in this block
    std::int64_t offset = 0;
    const auto enter = [&] {
      place = begins_[block] + row % blocks_.size * blocks_.width[block];
      behind = place + blocks_.width[block];
    };
    for (const std::int64_t i : weights_.entries(row)) {
      if (weights_.values.is_zero_bits(i)) continue;
      const std::int64_t column = weights_.column_of(i);
      if (column / blocks_.size != last) {
        pad(place, behind, offset);
        last = column / blocks_.size;
        while (blocks_.column[block] != last) ++block;
        enter();
      } else if (place == behind && blocks_.width[block] != blocks_.size) {  // the block's next piece
        ++block;
        enter();
      }
      offset = column % blocks_.size;
      const bool dense = blocks_.width[block] == blocks_.size;
      copy_value(dense ? place + offset : place, i);
      if (dense)
        behind = place;  // nothing to fill up
      else
        set_offset(place++, offset);
    }
    pad(place, behind, offset);
  }

  void pad(std::int64_t place, std::int64_t behind, std::int64_t offset) const {
    for (; place < behind; ++place) set_offset(place, offset);
  }

  void copy_value(std::int64_t place, std::int64_t entry) const {
    std::memcpy(values_.data() + static_cast<std::size_t>(place) * width_,
                weights_.values.data() + static_cast<std::size_t>(entry) * width_, width_);
  }

  /// Each place once; a byte belongs to one block and so to one thread.
  void set_offset(std::int64_t place, std::int64_t offset) const {
    if (bits_ == 8) {
      offset_[place] = static_cast<std::uint8_t>(offset);
      return;
    }
    std::uint8_t& byte = offset_[place / 2];
    byte = static_cast<std::uint8_t>(byte | (place % 2 == 0 ? offset : offset * 16));
  }

  const WeightMatrix& weights_;
  const HbEllBlocks& blocks_;
  const std::vector<std::int64_t>& begins_;
  std::int64_t bits_;
  std::size_t width_;
  Array& values_;
  std::span<std::uint8_t> offset_;
};

std::vector<Level> levels_of(const HbEllBlocks& blocks, const HbEllShape& shape) {
  const std::int64_t size = blocks.size;
  const bool every = blocks.every_column > 0;
  return {{.dimension = Dimension::row,
           .extent = std::ssize(blocks.row_begin) - 1,
           .stride = size,
           .loop = "block"},
          {.dimension = Dimension::row, .extent = size, .loop = "row"},
          {.kind = every ? LevelKind::dense : LevelKind::compressed,
           .dimension = Dimension::column,
           .extent = blocks.every_column,
           .stride = size,
           .begin = every ? "" : "brow_ptr",
           .index = every ? "" : "bcidx",
           .parent = 0,
           .loop = "block"},
          {.kind = LevelKind::bucketed,
           .dimension = Dimension::column,
           .extent = size,
           .begin = "brow_valptr",
           .index = "offset",
           .loop = "place",
           .width = "bcols",
           .across = 1,
           .index_bits = static_cast<int>(shape.offset),
           .width_step = static_cast<int>(shape.step),
           .one_width = shape.uniform}};
}

/// The paper's rules for offsets, and the numbers of blocks that no level needs.
class Rules {
 public:
  explicit Rules(const SparseTensor& tensor)
      : tensor_(tensor),
        shape_(hb_ell_shape(tensor.format())),
        begin_(tensor.array("brow_valptr").as<std::int32_t>()),
        width_(tensor.array("bcols").as<std::int32_t>()),
        offset_(tensor.array("offset"), static_cast<int>(shape_.offset)) {}

  void check() const {
    const std::int64_t block_rows = tensor_.levels().front().extent;
    check_numbers("brow_ptr", block_rows + 1);
    for (const char* name : {"bridx", "bcidx"}) check_numbers(name, std::ssize(width_));
    const auto row_begin = tensor_.array("brow_ptr").as<std::int32_t>();
    if (shape_.every > 0) check_every_block(block_rows);
    for (std::size_t row = 0; row + 1 < row_begin.size(); ++row) {
      for (std::int64_t block = row_begin[row]; block < row_begin[row + 1]; ++block) {
        expect("bridx", block, static_cast<std::int64_t>(row));
        check_block(static_cast<std::int64_t>(row), static_cast<std::size_t>(block));
      }
    }
  }

 private:
  [[noreturn]] void refuse(std::string where, std::string found, std::string accepted) const {
    refuse_damaged(tensor_, std::move(where), std::move(found), std::move(accepted));
  }

  void check_numbers(const std::string& name, std::int64_t size) const {
    const Array& array = tensor_.array(name);
    if (array.dtype() == DType::i32 && array.size() == size) return;
    refuse("array " + name, fmt::format("{} of {}", array.size(), name_of(array.dtype())),
           fmt::format("{} of i32", size));
  }

  void expect(const char* name, std::int64_t element, std::int64_t expected) const {
    const std::int64_t found = tensor_.array(name).get_integer(element);
    if (found != expected)
      refuse(fmt::format("{}[{}]", name, element), std::to_string(found), std::to_string(expected));
  }

  /// Where every block is stored, its number says where it is.
  void check_every_block(std::int64_t block_rows) const {
    const std::int64_t columns = tensor_.levels()[2].extent;
    for (std::int64_t row = 0; row <= block_rows; ++row) expect("brow_ptr", row, row * columns);
    for (std::int64_t block = 0; block < block_rows * columns; ++block)
      expect("bcidx", block, block % columns);
  }

  void check_block(std::int64_t block_row, std::size_t block) const {
    if (width_[block] == shape_.size) return;
    for (std::int64_t row = 0; row < shape_.size; ++row) {
      const std::int64_t first = begin_[block] + row * width_[block];
      std::int64_t last = -1;
      bool padding = false;
      for (std::int64_t place = first; place < first + width_[block]; ++place) {
        const std::int64_t offset = offset_[place];
        const auto where = [&] {
          return fmt::format("row {}, offset[{}]", block_row * shape_.size + row, place);
        };
        padding = padding || tensor_.array("values").is_zero_bits(place);
        if (padding && !tensor_.array("values").is_zero_bits(place))
          refuse(fmt::format("row {}, values[{}]", block_row * shape_.size + row, place),
                 "an entry behind a +0", "+0, as all that follows padding");
        if (padding && offset != std::max<std::int64_t>(last, 0))
          refuse(where(), std::to_string(offset),
                 fmt::format("{}, the row's last offset, in padding", std::max<std::int64_t>(last, 0)));
        if (!padding && offset <= last)
          refuse(where(), fmt::format("{} after {}", offset, last), "offsets that ascend");
        last = std::max(last, padding ? last : offset);
      }
    }
  }

  const SparseTensor& tensor_;
  HbEllShape shape_;
  std::span<const std::int32_t> begin_;
  std::span<const std::int32_t> width_;
  IndexNumbers offset_;
};

SparseTensor pack_on_all_cores(const WeightMatrix& weights, const Format& format) {
  return pack_hb_ell(weights, format, threads_for(weights.stored()));
}

constexpr std::array<FormatParameter, 6> hb_ell_parameters{{
    {"b", "a power of two from 2 to 16", "16", "rows and columns of a block"},
    {"every", "a power of two from 1 to 64", "0, only blocks with entries",
     "every block is stored, in multiples of so many"},
    {"offset", "a power of two from 4 to 8", "8", "bits of a column inside its block"},
    {"pairs", "0 or 1", "0", "1: two of each four columns, for sparse tensor cores; of the others only k"},
    {"step", "a power of two from 1 to 4", "1", "widths are filled up to a multiple of it"},
    {"uniform", "0 or 1", "0", "1: all blocks as wide as the widest"},
}};

}  // namespace

SparseTensor pack_hb_ell(const WeightMatrix& weights, const Format& format, std::int64_t threads) {
  const HbEllShape shape = hb_ell_shape(format);
  if (shape.pairs) return pack_hb_ell_pairs(weights, format, threads);
  const HbEllBlocks blocks = hb_ell_blocks(weights, shape, threads);
  const std::vector<std::int64_t> begins = begins_of(blocks);
  check_positions(weights, format, begins.back(), "places, rows of a block being as long as its longest");
  Array values(weights.values.dtype(), {begins.back()});
  Array offset(DType::u8, {blocks.sparse_places() * shape.offset / 8});
  const BlockFilling filling(weights, blocks, begins, shape.offset, values, offset);
  parallel_for_on(threads, std::ssize(blocks.row_begin) - 1,
                  [&](std::int64_t row) { filling.block_row(row); });
  std::vector<std::int32_t> rows(blocks.column.size());
  for (std::size_t row = 0; row + 1 < blocks.row_begin.size(); ++row)
    std::fill(rows.begin() + blocks.row_begin[row], rows.begin() + blocks.row_begin[row + 1],
              static_cast<std::int32_t>(row));
  return packed(weights, format, levels_of(blocks, shape),
                arrays_of({{"brow_ptr", indices_of(blocks.row_begin)},
                           {"brow_valptr", indices_of(begins)},
                           {"bridx", indices_of(rows)},
                           {"bcidx", indices_of(blocks.column)},
                           {"bcols", indices_of(blocks.width)},
                           {"offset", std::move(offset)},
                           {"values", std::move(values)}}));
}

NamedFormat hb_ell() {
  return {.name = "hb_ell",
          .summary = "blocks of 16 x 16, each in ELL of its own width, or dense",
          .pack = pack_on_all_cores,
          .check =
              [](const SparseTensor& tensor) {
                if (hb_ell_shape(tensor.format()).pairs) return check_hb_ell_pairs(tensor);
                Rules(tensor).check();
              },
          .purpose = "Unstructured weights on tensor cores, a block at a time.",
          .parameters = hb_ell_parameters};
}

}  // namespace weft::named

weft::Format weft::formats::HbEll::operator()(const HbEllOptions& options) const {
  const HbEllOptions usual;
  Format format{"hb_ell", {}};
  if (options.size != usual.size) format.parameters["b"] = options.size;
  if (options.offset != usual.offset) format.parameters["offset"] = options.offset;
  if (options.step != usual.step) format.parameters["step"] = options.step;
  if (options.uniform) format.parameters["uniform"] = 1;
  return format;
}
