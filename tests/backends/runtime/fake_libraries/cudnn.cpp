// A cuDNN for the fake driver, whose device memory is the host's: it convolves f32 and f16 images with
// channels first or last, in groups and dilated, by two algorithms, the way the vendor's documentation says,
// and refuses everything else.
#include <array>
#include <cstddef>
#include <cstdint>

namespace {

constexpr int success = 0, bad_parameter = 3, not_supported = 9;
constexpr int channels_first = 0, channels_last = 1;
constexpr int type_f32 = 0, type_f16 = 2;

/// Extents as [outermost, channels, height, width], whatever the format.
struct Array4 {
  int format = channels_first, type = type_f32;
  std::array<int, 4> extents{};

  std::size_t at(int n, int c, int h, int w) const {
    const auto [outer, channels, height, width] = extents;
    const int place = format == channels_last ? ((n * height + h) * width + w) * channels + c
                                              : ((n * channels + c) * height + h) * width + w;
    return static_cast<std::size_t>(place);
  }
};
struct Convolution {
  std::array<int, 2> pad{}, stride{}, dilation{};
  int groups = 1, math = 0;
};
int alive = 0;
std::array<int, 2> calls{};

template <class T>
struct Operands {
  const T* image;
  const T* filter;
  T* output;
};

template <class T>
float sum_of(const Array4& image, const Array4& filter, const Convolution& how, const Operands<T>& data,
             const std::array<int, 4>& place) {
  const auto [b, f, p, q] = place;
  const int channels = filter.extents[1];
  const int first = f / (filter.extents[0] / how.groups) * channels;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    for (int r = 0; r < filter.extents[2]; ++r) {
      for (int s = 0; s < filter.extents[3]; ++s) {
        const int y = p * how.stride[0] + r * how.dilation[0] - how.pad[0];
        const int x = q * how.stride[1] + s * how.dilation[1] - how.pad[1];
        if (y < 0 || y >= image.extents[2] || x < 0 || x >= image.extents[3]) continue;
        sum += static_cast<float>(data.image[image.at(b, first + c, y, x)]) *
               static_cast<float>(data.filter[filter.at(f, c, r, s)]);
      }
    }
  }
  return sum;
}

template <class T>
void convolve(const Array4& image, const Array4& filter, const Convolution& how, const Array4& output,
              const Operands<T>& data) {
  const auto [batch, filters, height, width] = output.extents;
  for (int b = 0; b < batch; ++b) {
    for (int f = 0; f < filters; ++f) {
      for (int p = 0; p < height; ++p) {
        for (int q = 0; q < width; ++q)
          data.output[output.at(b, f, p, q)] = static_cast<T>(sum_of(image, filter, how, data, {b, f, p, q}));
      }
    }
  }
}

/// Whether the output is what the convolution makes of the image.
bool fits(const Array4& image, const Array4& filter, const Convolution& how, const Array4& output) {
  if (image.extents[1] != filter.extents[1] * how.groups || filter.extents[0] % how.groups != 0) return false;
  if (output.extents[0] != image.extents[0] || output.extents[1] != filter.extents[0]) return false;
  for (std::size_t i = 0; i < 2; ++i) {
    const int reach = how.dilation[i] * (filter.extents[i + 2] - 1) + 1;
    if (output.extents[i + 2] != (image.extents[i + 2] + 2 * how.pad[i] - reach) / how.stride[i] + 1)
      return false;
  }
  return image.type == filter.type && image.type == output.type && image.format == filter.format &&
         image.format == output.format;
}

int set(Array4& array, int format, int type, const std::array<int, 4>& extents) {
  if (format != channels_first && format != channels_last) return bad_parameter;
  if (type != type_f32 && type != type_f16) return not_supported;
  array = {format, type, extents};
  return success;
}

template <class T>
int create(T** made) {
  *made = new T;
  ++alive;
  return success;
}

template <class T>
int destroy(T* made) {
  delete made;
  --alive;
  return success;
}

}  // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

/// Handles and descriptors that were not destroyed.
EXPORT int weft_fake_cudnn_alive() {
  return alive;
}
/// Convolutions with channels first (0) or last (1).
EXPORT int weft_fake_cudnn_calls(int format) {
  return calls.at(static_cast<std::size_t>(format));
}

EXPORT int cudnnCreate(void** handle) {
  static int dummy = 0;
  *handle = &dummy;
  ++alive;
  return success;
}
EXPORT int cudnnDestroy(void*) {
  --alive;
  return success;
}
EXPORT std::size_t cudnnGetVersion() {
  return 91501;
}
EXPORT int cudnnSetStream(void*, void*) {
  return success;
}
EXPORT int cudnnCreateTensorDescriptor(Array4** made) {
  return create(made);
}
EXPORT int cudnnSetTensor4dDescriptor(Array4* tensor, int format, int type, int n, int c, int h, int w) {
  return set(*tensor, format, type, {n, c, h, w});
}
EXPORT int cudnnDestroyTensorDescriptor(Array4* made) {
  return destroy(made);
}
EXPORT int cudnnCreateFilterDescriptor(Array4** made) {
  return create(made);
}
EXPORT int cudnnSetFilter4dDescriptor(Array4* filter, int type, int format, int k, int c, int h, int w) {
  return set(*filter, format, type, {k, c, h, w});
}
EXPORT int cudnnDestroyFilterDescriptor(Array4* made) {
  return destroy(made);
}
EXPORT int cudnnCreateConvolutionDescriptor(Convolution** made) {
  return create(made);
}
EXPORT int cudnnSetConvolution2dDescriptor(Convolution* how, int pad_h, int pad_w, int stride_h, int stride_w,
                                           int dilation_h, int dilation_w, int mode, int compute) {
  constexpr int cross_correlation = 1;
  if (mode != cross_correlation || compute != type_f32) return not_supported;
  *how = {{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}};
  return success;
}
EXPORT int cudnnSetConvolutionGroupCount(Convolution* how, int groups) {
  how->groups = groups;
  return groups >= 1 ? success : bad_parameter;
}
EXPORT int cudnnSetConvolutionMathType(Convolution* how, int math) {
  how->math = math;
  return success;
}
EXPORT int cudnnDestroyConvolutionDescriptor(Convolution* made) {
  return destroy(made);
}
EXPORT int cudnnGetConvolutionForwardWorkspaceSize(void*, Array4* image, Array4* filter, Convolution* how,
                                                   Array4* output, int algorithm, std::size_t* bytes) {
  constexpr int last_offered = 1;
  if (algorithm > last_offered) return not_supported;
  *bytes = algorithm == 0 ? 0 : 32;
  return fits(*image, *filter, *how, *output) ? success : bad_parameter;
}
EXPORT int cudnnConvolutionForward(void*, const void* alpha, Array4* image, const void* image_data,
                                   Array4* filter, const void* filter_data, Convolution* how, int algorithm,
                                   void* workspace, std::size_t bytes, const void* beta, Array4* output,
                                   void* output_data) {
  if (*static_cast<const float*>(alpha) != 1 || *static_cast<const float*>(beta) != 0) return not_supported;
  if (algorithm == 1 && (workspace == nullptr || bytes < 32)) return bad_parameter;
  ++calls.at(static_cast<std::size_t>(image->format));
  const auto convolve_as = [&]<class T>(T) {
    convolve<T>(*image, *filter, *how, *output,
                {static_cast<const T*>(image_data), static_cast<const T*>(filter_data),
                 static_cast<T*>(output_data)});
  };
  if (image->type == type_f32) convolve_as(float{});
  if (image->type == type_f16) convolve_as(_Float16{});
  return success;
}
