// A sparse format: its name, its parameters, and, through its levels, the answers to the three questions that
// a program is built from (which rows, which columns, how a stored tile becomes operands).
#pragma once

#include <weft/dsl/errors.h>
#include <weft/dsl/refused_call.h>
#include <weft/formats/row_order.h>
#include <weft/formats/weight_matrix.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace weft {

class SparseTensor;

/// A format with its parameters, before any weight is packed: "csr", "shfl_bw:V=64".
struct Format {
  std::string name;
  /// "order" is a RowOrder and is written as its name.
  std::map<std::string, std::int64_t> parameters;

  /// "shfl_bw:V=64": what parse_format reads.
  std::string text() const;
  bool operator==(const Format&) const = default;
};

/// One parameter of a named format, as `weft formats` says it.
struct FormatParameter {
  std::string_view name;
  std::string_view values;     ///< "a power of two from 8 to 256": what the refusal of another value accepts
  std::string_view otherwise;  ///< where it is left out
  std::string_view meaning;    ///< one line
};

/// One row of the list of named formats. A new format is one file that fills such a row, and one line in the
/// list in formats/named/list.cpp.
struct NamedFormat {
  std::string_view name;
  std::string_view summary;                                          ///< one line, for --help and messages
  SparseTensor (*pack)(const WeightMatrix& weights, const Format&);  ///< values keep their element type
  /// Throws UserError, as SparseTensor::check does, for what the levels cannot say; runs after all else has
  /// been checked. Null: they say it all.
  void (*check)(const SparseTensor& tensor) = nullptr;
  std::string_view purpose = {};  ///< one sentence: for which weights, and what takes it
  std::span<const FormatParameter> parameters = {};
};

/// Every named format.
std::span<const NamedFormat> named_formats();

/// "csr", "csr:order=dealt,rows=64", "shfl_bw:V=64". UserError that lists the formats when there is none of
/// that name.
Format parse_format(std::string_view text, CallPlace place = {});

/// A format in C++ is an object that is called, not a function: of an object's name alone, and of what it is
/// called with by mistake, a template can say in a sentence what is wrong. WEFT_LETTERS_REFUSED is for names
/// that its options do not have, such as the letters that stand in its text.
#define WEFT_LETTERS_REFUSED(name, written)                                                                 \
  template <class Never = void>                                                                             \
  Format operator()(const ::weft::detail::NamesOfOptions&) const {                                          \
    static_assert(::weft::detail::never<Never>,                                                             \
                  "weft: " #name                                                                            \
                  " is not given options that it has; found: one of another name, without its name, or of " \
                  "another type; accepted: " written);                                                      \
    return {};                                                                                              \
  }
/// A format of blocks that is given rows and columns of one apart.
#define WEFT_SIZES_REFUSED(name)                                                                  \
  template <std::integral... Sizes>                                                               \
    requires(sizeof...(Sizes) > 1)                                                                \
  Format operator()(Sizes...) const {                                                             \
    static_assert(::weft::detail::never<Sizes...>,                                                \
                  "weft: " #name                                                                  \
                  " is given more than one size; found: the types beside Sizes; accepted: " #name \
                  "(32), as many rows as columns of a block");                                    \
    return {};                                                                                    \
  }
/// The format of this name with its options, which are `otherwise` where they are left out.
#define WEFT_FORMAT(Name, name, Options, otherwise, written)                                      \
  struct Name {                                                                                   \
    Format operator()(const Options& options = otherwise) const;                                  \
    WEFT_LETTERS_REFUSED(name, written)                                                           \
    template <class Number, class... Rest>                                                        \
      requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>)                            \
    Format operator()(Number, const Rest&...) const {                                             \
      static_assert(::weft::detail::never<Number>,                                                \
                    "weft: " #name                                                                \
                    " is given options without their names; found: numbers; accepted: " written); \
      return {};                                                                                  \
    }                                                                                             \
  };                                                                                              \
  inline constexpr Name name {}

namespace detail {

/// Names of options that some format may have, letters of parameters and those of other formats, in the order
/// in which they are usually given.
struct NamesOfOptions {
  Anything order = {}, slice = {}, slice_size = {}, C = {}, sigma = {}, sort = {}, rows = {}, columns = {},
           cols = {}, V = {}, v = {}, N = {}, n = {}, M = {}, m = {}, K = {}, k = {}, B = {}, b = {},
           group = {}, group_size = {}, vector = {}, width = {}, size = {}, block = {}, block_size = {},
           offset = {}, step = {}, uniform = {}, pad = {}, padding = {}, align = {}, fill = {}, deal = {},
           places = {}, index = {}, index_bits = {}, bits = {};
};

}  // namespace detail

namespace formats {

/// How ell and bitmap lay out rows: `ell({.order = RowOrder::dealt, .rows = 64})`.
struct RowOptions {
  RowOrder order = RowOrder::given;
  std::int64_t rows = 64;  ///< rows of a block, for the orders that ask: those that a thread block will take
};

/// Of a weight whose column numbers fit into 16 bits.
inline constexpr std::int64_t columns_of_16_bits = 32'768;

/// How csr lays out rows, as RowOptions, and how wide its column numbers are: `csr({.index = 16})`.
struct CsrOptions {
  RowOrder order = RowOrder::given;
  std::int64_t rows = 64;
  std::int64_t index = 32;  ///< bits of a column, 16 or 32; 16 for weights of at most columns_of_16_bits
};

Format dense();  ///< every element stored, zeros too, row-major
#define WEFT_ROWS "({.order = RowOrder::dealt, .rows = 64})"
/// Rows compressed: offsets by row, columns, values.
WEFT_FORMAT(Csr, csr, CsrOptions, {}, "csr" WEFT_ROWS);
Format csc();  ///< columns compressed: offsets by column, rows, values
Format coo();  ///< row, column, value of each entry, sorted by row
/// A bit for each column, 64 in a word, and values.
WEFT_FORMAT(Bitmap, bitmap, RowOptions, {}, "bitmap" WEFT_ROWS);
/// Every row padded to the longest; column -1 in the padding.
WEFT_FORMAT(Ell, ell, RowOptions, {}, "ell" WEFT_ROWS);
#undef WEFT_ROWS

/// How padded_csr fills up lists of entries: `padded_csr({.pad = 8})`.
struct PaddedOptions {
  std::int64_t pad = 4;    ///< every list begins at a multiple of so many places, 1 to 1024
  std::int64_t block = 0;  ///< a row has a list for every so many columns; 0: one for all
  RowOptions rows = {};
  /// Blocks of rows have exactly so many lists' pieces of `pad` places: rows are put into few blocks, and
  /// what is left over in a block belongs to its last row, empty. 0: there are no such blocks; not beside the
  /// others.
  std::int64_t fill = 0;
};
/// csr whose lists are filled up, column -1 in the padding.
WEFT_FORMAT(PaddedCsr, padded_csr, PaddedOptions, {}, "padded_csr({.pad = 8, .block = 64})");

/// How sliced_ell cuts rows into slices: `sliced_ell({.slice = 8})`, written "sliced_ell:pad=4,slice=8".
struct SliceOptions {
  std::int64_t slice = 8;  ///< rows of a slice, 1 to 32: those that a warp takes at a time
  std::int64_t pad = 4;    ///< places of a row beside each other, 1 to 1024: those that are read at once
  /// Slices are dealt to blocks of so many slices, which get about equal numbers of places; 0: the longest
  /// come first.
  std::int64_t deal = 0;
  std::int64_t index = 32;  ///< bits of a column, 16 or 32; 16 for weights of at most columns_of_16_bits
};

/// Rows sorted by their length, in slices that are as wide as their longest row, as SELL-C-sigma with sigma
/// being all rows (Kreutzer, Hager, Wellein, Fehske, Bishop, "A unified sparse matrix data format for
/// efficient general sparse matrix-vector multiplication on modern processors with wide SIMD units", SIAM J.
/// Sci. Comput. 2014).
WEFT_FORMAT(SlicedEll, sliced_ell, SliceOptions, {}, "sliced_ell({.slice = 8, .pad = 4})");

/// Blocks of size x size, those with an entry stored whole; size a power of two from 4 to 256. Written
/// "bcsr:b=32". Rows and columns need not be multiples of it.
struct Bcsr {
  Format operator()(std::int64_t size = 16) const;
  WEFT_SIZES_REFUSED(bcsr)
  WEFT_LETTERS_REFUSED(bcsr, "bcsr(32), rows and columns of a block, which is b")
};
inline constexpr Bcsr bcsr{};  ///< block rows compressed
#if defined(WEFT_NO_NAME)
WEFT_NO_NAME("there is no bsr; accepted: formats::bcsr(16)") inline constexpr Bcsr bsr{};
#endif
struct BlockedEll {
  Format operator()(std::int64_t size = 16) const;
  WEFT_SIZES_REFUSED(blocked_ell)
  WEFT_LETTERS_REFUSED(blocked_ell, "blocked_ell(32), rows and columns of a block, which is b")
};
inline constexpr BlockedEll
    blocked_ell{};  ///< block rows padded to the longest; block column -1 in the padding

/// How hb_ell stores its blocks: `hb_ell({.offset = 4})`, written "hb_ell:offset=4".
struct HbEllOptions {
  std::int64_t size = 16;   ///< b, rows and columns of a block: a power of two from 2 to 16
  std::int64_t offset = 8;  ///< bits of an offset, 8 or 4
  /// Widths are filled up to a multiple of it, 1, 2 or 4; beyond 1, blocks wider than half are dense. The
  /// sparse tensor core has instructions for 4 and 8 and takes wider blocks dense: 4.
  std::int64_t step = 1;
  bool uniform = false;  ///< all blocks, even empty ones, as wide as the widest; with a step in pieces of it
};
/// Blocks with entries by block row, each in ELL of its own width, or dense (Wu et al., "Generic, Sparse
/// Tensor Core for Neural Networks", III-A). "hb_ell:pairs=1" has two of four, for sparse tensor cores.
WEFT_FORMAT(HbEll, hb_ell, HbEllOptions, {}, "hb_ell({.size = 8, .offset = 4}), of which size is b");

/// Groups of rows that keep the same columns: `shfl_bw({.rows = 128})`, written "shfl_bw:V=128,k=32".
struct GroupOptions {
  std::int64_t rows = 64;  ///< V, of a group: a power of two from 8 to 256
  /// k: lists of columns are filled up to a multiple, 16, 32 or 64. 0: as many as 128 bytes of values hold,
  /// 16 to 64.
  std::int64_t places = 0;
  std::int64_t index = 32;  ///< bits of a column, 16 or 32; 16 for weights of at most 32,768 columns
};
#define WEFT_GROUPS "({.rows = 64, .places = 32}), of which rows is V and places is k"
/// Groups of rows as they come.
WEFT_FORMAT(VectorWise, vector_wise, GroupOptions, {}, "vector_wise" WEFT_GROUPS);
/// Groups of any rows, found when packed; `row_order`.
WEFT_FORMAT(ShflBw, shfl_bw, GroupOptions, {}, "shfl_bw" WEFT_GROUPS);
#undef WEFT_GROUPS

/// Groups of any rows that keep the same columns, found when packed, as a CPU reads them: the values of a
/// column side by side. rows: V, of a group, a power of two from 4 to 64. Written "column_vectors:V=16".
struct ColumnVectors {
  Format operator()(std::int64_t rows = 8) const;
  WEFT_SIZES_REFUSED(column_vectors)
  WEFT_LETTERS_REFUSED(column_vectors, "column_vectors(16), rows of a group, which is V")
};
inline constexpr ColumnVectors column_vectors{};

/// Blocks of columns, of each of which the rows are compressed, as a CPU reads them whose first cache holds
/// what one block multiplies. columns: of a block, a power of two from 4 to 32,768. Written
/// "column_blocks:columns=256".
struct ColumnBlocks {
  Format operator()(std::int64_t columns = 128) const;
  WEFT_SIZES_REFUSED(column_blocks)
  WEFT_LETTERS_REFUSED(column_blocks, "column_blocks(256), columns of a block")
};
inline constexpr ColumnBlocks column_blocks{};

/// Rows by length, 16 side by side: four entries of each at a time, all of them in a window of 32 columns.
Format column_windows();

/// How n_m, v_n_m, mixed and column_quads are cut, 2:4 sparsity in the order of sparse tensor cores:
/// `v_n_m({.columns = 16})`, written "v_n_m:M=16,V=64".
struct PairOptions {
  std::int64_t rows = 64;    ///< V, of a group: a power of two from 16 to 256
  std::int64_t columns = 8;  ///< M, of v_n_m: 4, 8, 10, 16, 20, 32, 40 or 100
  std::int64_t places = 64;  ///< k: gathered columns of a block, 64 or 128
};
#define WEFT_PAIRS "({.rows = 64, .places = 128}), of which rows is V and places is k"
/// Two of each four columns of a row; only weights that keep no more can be packed. M has no meaning.
WEFT_FORMAT(NM, n_m, PairOptions, {.rows = 128}, "n_m" WEFT_PAIRS);
/// Of each M columns a group of V rows keeps four, and each row two of these: the V:N:M sparsity of Castro et
/// al., "VENOM: A Vectorized N:M Format for Unleashing the Power of Sparse Tensor Cores" (SC 2023), N = 2.
/// Only weights that keep no more can be packed. K need not be a multiple of M.
WEFT_FORMAT(
    VNM, v_n_m, PairOptions, {},
    "v_n_m({.rows = 64, .columns = 16}), of which rows is V and columns is M, N being 2; k is .places "
    "behind them");
/// Any weights: blocks of k columns in which the rows of a group keep two of four are stored so, the others
/// dense. M has no meaning. As fast as its tiles let it be: a dense one takes as long as two of 2:4.
WEFT_FORMAT(Mixed, mixed, PairOptions, {.rows = 128}, "mixed" WEFT_PAIRS);
/// Any weights: the columns of a group of V rows are put together in fours of which every row has at most two
/// entries. M has no meaning.
WEFT_FORMAT(ColumnQuads, column_quads, PairOptions, {.rows = 128}, "column_quads" WEFT_PAIRS);
#undef WEFT_PAIRS

/// 32 rows and so many columns as 32 streams, one for each lane of a warp: what the lane has of the operand
/// of a tensor core's instruction, in the order in which it takes it, and a bit for every place. The value of
/// a set bit is the next one of its stream. For weights that keep a half without any pattern. columns: of a
/// stream, a multiple of 64. Written "lane_streams:columns=1024".
struct LaneStreams {
  Format operator()(std::int64_t columns = 512) const;
  WEFT_SIZES_REFUSED(lane_streams)
  WEFT_LETTERS_REFUSED(lane_streams, "lane_streams(1024), columns of a stream")
};
inline constexpr LaneStreams lane_streams{};
/// The same with a bit for every two columns beside one another, both of which are stored where one has an
/// entry: more bytes, half the work. Written "pair_words:columns=1024".
struct PairWords {
  Format operator()(std::int64_t columns = 512) const;
  WEFT_SIZES_REFUSED(pair_words)
  WEFT_LETTERS_REFUSED(pair_words, "pair_words(1024), columns of a stream")
};
inline constexpr PairWords pair_words{};

/// Whether sparse tensor cores take it, its levels keeping two of four. UserError, as from pack, for
/// parameters that the format does not have.
bool keeps_two_of_four(const Format& format);

}  // namespace formats

}  // namespace weft
