#include <weft/dsl/errors.h>
#include <weft/search/measure/operands.h>

#include <cstring>
#include <vector>

namespace weft {
namespace {

const Convolution& convolution_of(const Workload& workload) {
  internal_check(workload.problem.convolution.has_value(), "channels of a product");
  return *workload.problem.convolution;
}

/// Of a convolution in groups, the filters over the channels of their own group.
Array dense_of(const Workload& workload) {
  const std::int64_t groups = workload.problem.image_groups;
  return to_dense(groups > 1 ? within_groups(workload.matrix, groups) : workload.matrix);
}

}  // namespace

Array channels_last(const Array& array, std::int64_t outer, std::int64_t channels, std::int64_t pixels) {
  internal_check(array.size() == outer * channels * pixels, "an array of another shape is turned");
  Array turned(array.dtype(), {outer, pixels, channels});
  const std::size_t width = size_of(array.dtype());
  const auto byte_of = [&](std::int64_t element) { return static_cast<std::size_t>(element) * width; };
  for (std::int64_t o = 0; o < outer; ++o) {
    for (std::int64_t c = 0; c < channels; ++c) {
      for (std::int64_t p = 0; p < pixels; ++p)
        std::memcpy(turned.data() + byte_of((o * pixels + p) * channels + c),
                    array.data() + byte_of((o * channels + c) * pixels + p), width);
    }
  }
  return turned;
}

Array laid_out(const Array& images, ImageLayout layout) {
  if (layout == ImageLayout::nchw) return images;
  const std::vector<std::int64_t>& shape = images.shape();
  internal_check(shape.size() == 4, "no array of images");
  if (layout == ImageLayout::chwn)
    return channels_last(images, 1, shape[0], shape[1] * shape[2] * shape[3])
        .reshaped({shape[1], shape[2], shape[3], shape[0]});
  return channels_last(images, shape[0], shape[1], shape[2] * shape[3])
      .reshaped({shape[0], shape[2], shape[3], shape[1]});
}

// Channels that are last come to the front of the pixels by turning once more.
Array channels_first(const Array& images, ImageLayout layout) {
  if (layout == ImageLayout::nchw) return images;
  const std::vector<std::int64_t>& shape = images.shape();
  internal_check(shape.size() == 4, "no array of images");
  if (layout == ImageLayout::chwn)
    return channels_last(images, 1, shape[0] * shape[1] * shape[2], shape[3])
        .reshaped({shape[3], shape[0], shape[1], shape[2]});
  return channels_last(images, shape[0], shape[1] * shape[2], shape[3])
      .reshaped({shape[0], shape[3], shape[1], shape[2]});
}

std::uint64_t Operands::uploaded(DeviceMemory& memory, const void* data, std::size_t bytes) const {
  memory = DeviceMemory(device_, bytes);
  if (bytes > 0) memory.upload(data, bytes);
  return memory.address();
}

std::uint64_t Operands::dense_weights() const {
  if (dense_.bytes() > 0) return dense_.address();
  const Array dense = dense_of(workload_);
  return uploaded(dense_, dense.data(), dense.bytes());
}

std::uint64_t Operands::b() const {
  if (b_.bytes() > 0) return b_.address();
  return uploaded(b_, workload_.b->data(), workload_.b->bytes());
}

std::uint64_t Operands::b_along_k() const {
  if (b_along_k_.bytes() > 0) return b_along_k_.address();
  const Array turned = channels_last(*workload_.b, 1, workload_.problem.k, workload_.problem.n);
  return uploaded(b_along_k_, turned.data(), turned.bytes());
}

std::uint64_t Operands::c() const {
  if (c_.bytes() == 0) c_ = DeviceMemory(device_, workload_.empty_output().bytes());
  return c_.address();
}

std::uint64_t Operands::row_begin() const {
  if (row_begin_.bytes() > 0) return row_begin_.address();
  const std::vector<std::int64_t>& offsets = workload_.matrix.row_begin;
  const std::vector<std::int32_t> narrow(offsets.begin(), offsets.end());
  return uploaded(row_begin_, narrow.data(), narrow.size() * sizeof(std::int32_t));
}

std::uint64_t Operands::column() const {
  if (column_.bytes() > 0) return column_.address();
  const std::vector<std::int32_t>& column = workload_.matrix.column;
  return uploaded(column_, column.data(), column.size() * sizeof(std::int32_t));
}

std::uint64_t Operands::values() const {
  if (values_.bytes() > 0) return values_.address();
  return uploaded(values_, workload_.matrix.values.data(), workload_.matrix.values.bytes());
}

std::uint64_t Operands::dense_weights_channels_last() const {
  if (dense_last_.bytes() > 0) return dense_last_.address();
  const Convolution& c = convolution_of(workload_);
  const Array turned = channels_last(dense_of(workload_), c.filters,
                                     c.channels / workload_.problem.image_groups, c.filter[0] * c.filter[1]);
  return uploaded(dense_last_, turned.data(), turned.bytes());
}

std::uint64_t Operands::b_channels_last() const {
  if (b_last_.bytes() > 0) return b_last_.address();
  const Convolution& c = convolution_of(workload_);
  const Array turned = channels_last(*workload_.b, c.batch, c.channels, c.image[0] * c.image[1]);
  return uploaded(b_last_, turned.data(), turned.bytes());
}

void Operands::poison_c() const {
  c();
  c_.poison();
}

Array Operands::download_c() const {
  Array output = workload_.empty_output();
  c_.download(output.data(), output.bytes());
  return output;
}

Array Operands::download_c_channels_last() const {
  const Convolution& c = convolution_of(workload_);
  // Turning once more brings the channels back to the front of the pixels.
  const std::vector<std::int64_t> shape = workload_.empty_output().shape();
  return channels_last(download_c(), c.batch, shape[2] * shape[3], c.filters).reshaped(shape);
}

}  // namespace weft
