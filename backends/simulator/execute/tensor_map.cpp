#include <fmt/format.h>
#include <weft/backends/simulator/execute/tensor_map.h>
#include <weft/dsl/arithmetic.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace weft::simulator {
namespace {

constexpr std::uint64_t magic = 0x31'70'61'6D'74'66'65'77;  // "weftmap1"
constexpr std::uint64_t chunk_bytes = 16;
constexpr std::uint32_t most_box = 256, most_element_stride = 8;
constexpr std::uint64_t stride_end = std::uint64_t{1} << 40, dimension_end = std::uint64_t{1} << 32;

constexpr std::array<std::uint8_t, 13> type_bytes{1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

/// The 128 bytes.
struct Stored {
  std::uint64_t magic;
  std::uint64_t address;
  std::array<std::uint64_t, most_tensor_rank> strides;
  std::array<std::uint32_t, most_tensor_rank> last;  ///< dimensions less one
  std::array<std::uint16_t, most_tensor_rank> box;
  std::array<std::uint8_t, most_tensor_rank> element_strides;
  std::uint8_t type, rank, swizzle, fill, has_pixels;
  TensorMap::Pixels pixels;
};
static_assert(sizeof(Stored) <= tensor_map_bytes);

void require(bool holds, std::string found, std::string accepted) {
  if (!holds) throw UserError("encoding a tensor map", std::move(found), std::move(accepted));
}

std::uint64_t swizzle_bytes(TensorMap::Swizzle swizzle) {
  return chunk_bytes << static_cast<unsigned>(swizzle);
}

bool is_floating(TensorMap::Type type) {
  return type >= TensorMap::Type::f16;
}

/// What both kinds of map have, checked; the box is still to come.
TensorMap common(TensorMap::Type type, int rank, std::uint64_t address, const std::uint64_t* dimensions,
                 const std::uint64_t* strides, const std::uint32_t* element_strides, int interleave,
                 TensorMap::Swizzle swizzle, TensorMap::Fill fill) {
  require(rank >= 1 && rank <= static_cast<int>(most_tensor_rank), fmt::format("rank {}", rank), "1 to 5");
  require(static_cast<std::size_t>(type) < type_bytes.size(),
          fmt::format("data type {}", static_cast<int>(type)), "0 to 12");
  require(interleave == 0, fmt::format("interleave {}", interleave), "CU_TENSOR_MAP_INTERLEAVE_NONE");
  require(swizzle <= TensorMap::Swizzle::bytes_128, fmt::format("swizzle {}", static_cast<int>(swizzle)),
          "0 to 3");
  require(address % chunk_bytes == 0, fmt::format("address {:#x}", address), "a multiple of 16");
  require(fill == TensorMap::Fill::zeros || is_floating(type), "NaN as fill of integers", "zeros");
  TensorMap map;
  map.type = type;
  map.rank = static_cast<std::uint8_t>(rank);
  map.address = address;
  map.swizzle = swizzle;
  map.fill = fill;
  map.strides[0] = map.element_bytes();
  for (std::size_t i = 0; i < map.rank; ++i) {
    require(dimensions[i] >= 1 && dimensions[i] <= dimension_end,
            fmt::format("dimension {} is {}", i, dimensions[i]), "1 to 2^32");
    // The innermost one's stride is ignored, as the driver does.
    const std::uint32_t step = i == 0 ? 1 : element_strides[i];
    require(step >= 1 && step <= most_element_stride, fmt::format("element stride {} is {}", i, step),
            "1 to 8");
    map.dimensions[i] = dimensions[i];
    map.element_strides[i] = step;
    if (i == 0) continue;
    const std::uint64_t stride = strides[i - 1];
    require(stride % chunk_bytes == 0 && stride < stride_end, fmt::format("stride {} is {}", i, stride),
            "multiples of 16 below 2^40");
    map.strides[i] = stride;
  }
  return map;
}

void check_inner(const TensorMap& map, std::uint64_t elements) {
  const std::uint64_t bytes = elements * map.element_bytes();
  require(bytes % chunk_bytes == 0, fmt::format("a box of {} bytes in the innermost dimension", bytes),
          "a multiple of 16");
  require(map.swizzle == TensorMap::Swizzle::none || bytes <= swizzle_bytes(map.swizzle),
          fmt::format("a box of {} bytes in the innermost dimension", bytes),
          fmt::format("at most the swizzle's {}", swizzle_bytes(map.swizzle)));
}

TensorMapBytes encode(const TensorMap& map) {
  Stored stored{};
  stored.magic = magic;
  stored.address = map.address;
  stored.strides = map.strides;
  for (std::size_t i = 0; i < map.rank; ++i) {
    stored.last[i] = static_cast<std::uint32_t>(map.dimensions[i] - 1);
    stored.box[i] = static_cast<std::uint16_t>(map.box[i]);
    stored.element_strides[i] = static_cast<std::uint8_t>(map.element_strides[i]);
  }
  stored.type = static_cast<std::uint8_t>(map.type);
  stored.rank = map.rank;
  stored.swizzle = static_cast<std::uint8_t>(map.swizzle);
  stored.fill = static_cast<std::uint8_t>(map.fill);
  stored.has_pixels = map.pixels.has_value() ? 1 : 0;
  if (map.pixels) stored.pixels = *map.pixels;
  TensorMapBytes bytes{};
  std::memcpy(bytes.data(), &stored, sizeof stored);
  return bytes;
}

/// One row of a box: what is inside of the tensor, cut where a swizzle exchanges chunks.
class Rows {
 public:
  Rows(const TensorMap& map, std::uint64_t shared, const std::function<void(const BoxPiece&)>& function)
      : map_(map), shared_(shared), function_(function) {}

  /// `elements` from `first` of the innermost dimension on; `outer`: the offset of the other dimensions in
  /// global memory, where they are inside.
  void add(std::int64_t first, std::uint32_t elements, std::optional<std::uint64_t> outer) {
    const auto size = static_cast<std::int64_t>(map_.dimensions[0]);
    const std::int64_t end = first + elements;
    const std::int64_t inside = outer ? std::clamp<std::int64_t>(0, first, end) : end;
    const std::int64_t outside = outer ? std::clamp<std::int64_t>(size, inside, end) : end;
    add_run(inside - first, std::nullopt);
    if (outer)
      add_run(outside - inside,
              map_.address + *outer + static_cast<std::uint64_t>(inside) * map_.element_bytes());
    add_run(end - outside, std::nullopt);
  }

 private:
  void add_run(std::int64_t elements, std::optional<std::uint64_t> global) {
    std::uint64_t left = static_cast<std::uint64_t>(elements) * map_.element_bytes();
    while (left > 0) {
      const std::uint64_t bytes = map_.swizzle == TensorMap::Swizzle::none
                                      ? left
                                      : std::min(left, chunk_bytes - shared_ % chunk_bytes);
      function_({.is_inside = global.has_value(),
                 .global = global.value_or(0),
                 .shared = swizzled(map_.swizzle, shared_),
                 .bytes = static_cast<std::uint32_t>(bytes)});
      if (global) *global += bytes;
      shared_ += bytes;
      left -= bytes;
    }
  }

  const TensorMap& map_;
  std::uint64_t shared_;
  const std::function<void(const BoxPiece&)>& function_;
};

/// The offset in global memory of the outer dimensions, where index(i) is the coordinate in dimension i;
/// nothing outside of the tensor.
template <class F>
std::optional<std::uint64_t> outer_offset(const TensorMap& map, F index) {
  std::uint64_t offset = 0;
  for (std::size_t i = 1; i < map.rank; ++i) {
    const std::int64_t at = index(i);
    if (at < 0 || static_cast<std::uint64_t>(at) >= map.dimensions[i]) return std::nullopt;
    offset += static_cast<std::uint64_t>(at) * map.strides[i];
  }
  return offset;
}

std::uint32_t taken(const TensorMap& map, std::size_t i) {
  return ceil_divide(map.box[i], map.element_strides[i]);
}

void walk_tiles(const TensorMap& map, const std::int32_t* coordinates, Rows& rows) {
  std::array<std::uint32_t, most_tensor_rank> at{};
  while (true) {
    const auto outer = outer_offset(map, [&](std::size_t i) {
      return std::int64_t{coordinates[i]} + std::int64_t{at[i]} * map.element_strides[i];
    });
    rows.add(coordinates[0], map.box[0], outer);
    std::size_t i = 1;
    while (i < map.rank && ++at[i] == taken(map, i)) at[i++] = 0;
    if (i >= map.rank) return;
  }
}

/// From pixel to pixel of the bounding box, the inner dimensions first, then to the next image.
void walk_pixels(const TensorMap& map, const std::int32_t* coordinates, const std::uint16_t* offsets,
                 Rows& rows) {
  const TensorMap::Pixels& pixels = *map.pixels;
  const std::size_t images = map.rank - 1U;
  std::array<std::int64_t, most_tensor_rank> at{};
  for (std::size_t i = 1; i < map.rank; ++i) at[i] = coordinates[i];
  for (std::uint32_t pixel = 0; pixel < pixels.count; ++pixel) {
    const auto outer = outer_offset(
        map, [&](std::size_t i) { return at[i] + (i < images && offsets != nullptr ? offsets[i - 1] : 0); });
    rows.add(coordinates[0], pixels.channels, outer);
    std::size_t i = 1;
    for (; i < images; ++i) {
      at[i] += map.element_strides[i];
      if (at[i] < static_cast<std::int64_t>(map.dimensions[i]) + pixels.upper[i - 1]) break;
      at[i] = pixels.lower[i - 1];
    }
    if (i == images) ++at[images];
  }
}

}  // namespace

std::size_t TensorMap::element_bytes() const {
  return type_bytes[static_cast<std::size_t>(type)];
}

std::size_t TensorMap::box_bytes() const {
  if (pixels) return element_bytes() * pixels->channels * pixels->count;
  std::size_t bytes = element_bytes() * box[0];
  for (std::size_t i = 1; i < rank; ++i) bytes *= taken(*this, i);
  return bytes;
}

TensorMapBytes encode_tensor_map(TensorMap::Type type, int rank, std::uint64_t address,
                                 const std::uint64_t* dimensions, const std::uint64_t* strides,
                                 const std::uint32_t* box, const std::uint32_t* element_strides,
                                 int interleave, TensorMap::Swizzle swizzle, TensorMap::Fill fill) {
  TensorMap map =
      common(type, rank, address, dimensions, strides, element_strides, interleave, swizzle, fill);
  for (std::size_t i = 0; i < map.rank; ++i) {
    require(box[i] >= 1 && box[i] <= most_box, fmt::format("box {} is {}", i, box[i]), "1 to 256");
    map.box[i] = box[i];
  }
  check_inner(map, box[0]);
  return encode(map);
}

TensorMapBytes encode_tensor_map_of_pixels(TensorMap::Type type, int rank, std::uint64_t address,
                                           const std::uint64_t* dimensions, const std::uint64_t* strides,
                                           const int* lower, const int* upper, std::uint32_t channels,
                                           std::uint32_t pixels, const std::uint32_t* element_strides,
                                           int interleave, TensorMap::Swizzle swizzle, TensorMap::Fill fill) {
  constexpr int least_rank = 3;
  constexpr std::uint32_t most_pixels = 1024;
  require(rank >= least_rank, fmt::format("im2col of rank {}", rank), "3 to 5");
  TensorMap map =
      common(type, rank, address, dimensions, strides, element_strides, interleave, swizzle, fill);
  require(channels >= 1 && channels <= most_box, fmt::format("{} channels", channels), "1 to 256");
  require(pixels >= 1 && pixels <= most_pixels, fmt::format("{} pixels", pixels), "1 to 1024");
  map.pixels = TensorMap::Pixels{};
  TensorMap::Pixels& walk = *map.pixels;
  walk.channels = static_cast<std::uint16_t>(channels);
  walk.count = static_cast<std::uint16_t>(pixels);
  const int corner_end = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
  for (int i = 0; i < rank - 2; ++i) {
    for (const int corner : {lower[i], upper[i]})
      require(corner >= -corner_end && corner < corner_end, fmt::format("corner {} is {}", i, corner),
              fmt::format("{} to {}", -corner_end, corner_end - 1));
    walk.lower[i] = static_cast<std::int16_t>(lower[i]);
    walk.upper[i] = static_cast<std::int16_t>(upper[i]);
  }
  check_inner(map, channels);
  return encode(map);
}

std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, tensor_map_bytes> bytes) {
  Stored stored;
  std::memcpy(&stored, bytes.data(), sizeof stored);
  if (stored.magic != magic || stored.rank == 0 || stored.rank > most_tensor_rank ||
      stored.type >= type_bytes.size() || stored.swizzle > 3)
    return std::nullopt;
  TensorMap map;
  map.type = static_cast<TensorMap::Type>(stored.type);
  map.rank = stored.rank;
  map.address = stored.address;
  map.strides = stored.strides;
  map.swizzle = static_cast<TensorMap::Swizzle>(stored.swizzle);
  map.fill = static_cast<TensorMap::Fill>(stored.fill);
  for (std::size_t i = 0; i < map.rank; ++i) {
    map.dimensions[i] = std::uint64_t{stored.last[i]} + 1;
    map.box[i] = stored.box[i];
    map.element_strides[i] = stored.element_strides[i];
    if (map.element_strides[i] == 0) return std::nullopt;
    if (stored.has_pixels == 0 && (map.box[i] == 0 || map.box[i] > most_box)) return std::nullopt;
  }
  if (stored.has_pixels != 0) map.pixels = stored.pixels;
  return map;
}

void for_each_box_piece(const TensorMap& map, const std::int32_t* coordinates, const std::uint16_t* offsets,
                        std::uint64_t shared, const std::function<void(const BoxPiece&)>& function) {
  Rows rows(map, shared, function);
  if (map.pixels)
    walk_pixels(map, coordinates, offsets, rows);
  else
    walk_tiles(map, coordinates, rows);
}

std::uint64_t swizzled(TensorMap::Swizzle swizzle, std::uint64_t address) {
  const std::uint64_t mask = swizzle_bytes(swizzle) / chunk_bytes - 1;
  return address ^ (address >> 7 & mask) * chunk_bytes;
}

void fill_outside(const TensorMap& map, std::byte* to, std::size_t bytes) {
  std::memset(to, 0, bytes);
  if (map.fill == TensorMap::Fill::zeros) return;
  // A quiet NaN with all bits set but the sign.
  const std::size_t size = map.element_bytes();
  for (std::size_t i = 0; i < bytes; ++i) to[i] = i % size == size - 1 ? std::byte{0x7F} : std::byte{0xFF};
}

}  // namespace weft::simulator
