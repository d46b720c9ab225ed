// Tensor maps: 128 bytes that say how a box of a tensor in global memory is copied (PTX ISA, "Tensors"). The
// driver's own form is secret, so the simulator's maps have one of ours, with the arguments of
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col in it. What the two functions there refuse is a
// UserError.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace weft::simulator {

constexpr std::size_t tensor_map_bytes = 128;
constexpr std::size_t most_tensor_rank = 5;
using TensorMapBytes = std::array<std::byte, tensor_map_bytes>;

/// What a map says. Enumerations have the numbers of cuda.h; arrays begin at the innermost dimension.
struct TensorMap {
  enum class Type : std::uint8_t {
    u8,
    u16,
    u32,
    s32,
    u64,
    s64,
    f16,
    f32,
    f64,
    bf16,
    f32_flushed,  ///< copied as it is, subnormal or not
    tf32,         ///< likewise
    tf32_flushed,
  };
  enum class Swizzle : std::uint8_t { none, bytes_32, bytes_64, bytes_128 };
  enum class Fill : std::uint8_t { zeros, nan };
  /// A box walks through pixels instead: im2col.
  struct Pixels {
    std::array<std::int16_t, 3> lower{}, upper{};  ///< corners of the bounding box, for rank - 2 dimensions
    std::uint16_t channels = 0;                    ///< channels of a pixel that are copied
    std::uint16_t count = 0;                       ///< pixels
  };

  Type type = Type::f32;
  std::uint8_t rank = 1;
  std::uint64_t address = 0;
  std::array<std::uint64_t, most_tensor_rank> dimensions{};       ///< elements
  std::array<std::uint64_t, most_tensor_rank> strides{};          ///< bytes; [0] is that of an element
  std::array<std::uint32_t, most_tensor_rank> box{};              ///< elements that it spans
  std::array<std::uint32_t, most_tensor_rank> element_strides{};  ///< every how many of them it takes
  Swizzle swizzle = Swizzle::none;
  Fill fill = Fill::zeros;  ///< what stands for elements outside of the tensor
  std::optional<Pixels> pixels;

  std::size_t element_bytes() const;
  /// Bytes that a box takes in shared memory, and that its mbarrier is told of: those outside count too.
  std::size_t box_bytes() const;
};

/// As cuTensorMapEncodeTiled: `strides` are the rank - 1 outer ones. Interleaved layouts are not simulated:
/// `interleave` other than 0 is a UserError.
TensorMapBytes encode_tensor_map(TensorMap::Type type, int rank, std::uint64_t address,
                                 const std::uint64_t* dimensions, const std::uint64_t* strides,
                                 const std::uint32_t* box, const std::uint32_t* element_strides,
                                 int interleave, TensorMap::Swizzle swizzle, TensorMap::Fill fill);
/// As cuTensorMapEncodeIm2col, for rank 3 to 5.
TensorMapBytes encode_tensor_map_of_pixels(TensorMap::Type type, int rank, std::uint64_t address,
                                           const std::uint64_t* dimensions, const std::uint64_t* strides,
                                           const int* lower, const int* upper, std::uint32_t channels,
                                           std::uint32_t pixels, const std::uint32_t* element_strides,
                                           int interleave, TensorMap::Swizzle swizzle, TensorMap::Fill fill);
/// Nothing when the bytes are no map of ours.
std::optional<TensorMap> decode_tensor_map(std::span<const std::byte, tensor_map_bytes> bytes);

/// A run of bytes of a box.
struct BoxPiece {
  bool is_inside = false;    ///< in the tensor; else it is filled in shared memory, and not stored
  std::uint64_t global = 0;  ///< address, where inside
  std::uint64_t shared = 0;  ///< address, swizzled
  std::uint32_t bytes = 0;
};

/// Calls `function` for all pieces of the box at `coordinates` (rank of them) that lies at `shared` in shared
/// memory, in the order of shared memory before its swizzle. `offsets`: of im2col, rank - 2 of them. A store
/// leaves out what is outside.
void for_each_box_piece(const TensorMap& map, const std::int32_t* coordinates, const std::uint16_t* offsets,
                        std::uint64_t shared, const std::function<void(const BoxPiece&)>& function);

/// An address of shared memory as a swizzle moves it: bits 4 and up xored with bits 7 and up.
std::uint64_t swizzled(TensorMap::Swizzle swizzle, std::uint64_t address);

/// Writes what stands for elements outside of the tensor.
void fill_outside(const TensorMap& map, std::byte* to, std::size_t bytes);

}  // namespace weft::simulator
