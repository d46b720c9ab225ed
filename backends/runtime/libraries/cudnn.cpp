#include <weft/backends/runtime/libraries/cudnn.h>
#include <weft/backends/runtime/libraries/vendor_library.h>
#include <weft/backends/runtime/memory.h>
#include <weft/dsl/errors.h>

#include <algorithm>
#include <limits>

namespace weft {
namespace {

using Handle = struct cudnnContext*;
using TensorDescriptor = struct cudnnTensorStruct*;
using FilterDescriptor = struct cudnnFilterStruct*;
using ConvolutionDescriptor = struct cudnnConvolutionStruct*;
using Status = VendorStatus;

struct EntryPoints : LibraryFunctions {
  Imported<Status(Handle* handle)> create{*this, "cudnnCreate"};
  Imported<Status(Handle handle)> destroy{*this, "cudnnDestroy"};
  Imported<std::size_t()> get_version{*this, "cudnnGetVersion"};
  Imported<Status(Handle handle, StreamHandle stream)> set_stream{*this, "cudnnSetStream"};
  Imported<Status(TensorDescriptor* tensor)> create_tensor{*this, "cudnnCreateTensorDescriptor"};
  Imported<Status(TensorDescriptor tensor, int format, int type, int n, int c, int h, int w)> set_tensor{
      *this, "cudnnSetTensor4dDescriptor"};
  Imported<Status(TensorDescriptor tensor)> destroy_tensor{*this, "cudnnDestroyTensorDescriptor"};
  Imported<Status(FilterDescriptor* filter)> create_filter{*this, "cudnnCreateFilterDescriptor"};
  Imported<Status(FilterDescriptor filter, int type, int format, int k, int c, int h, int w)> set_filter{
      *this, "cudnnSetFilter4dDescriptor"};
  Imported<Status(FilterDescriptor filter)> destroy_filter{*this, "cudnnDestroyFilterDescriptor"};
  Imported<Status(ConvolutionDescriptor* convolution)> create_convolution{*this,
                                                                          "cudnnCreateConvolutionDescriptor"};
  Imported<Status(ConvolutionDescriptor convolution, int pad_h, int pad_w, int stride_h, int stride_w,
                  int dilation_h, int dilation_w, int mode, int compute)>
      set_convolution{*this, "cudnnSetConvolution2dDescriptor"};
  Imported<Status(ConvolutionDescriptor convolution, int groups)> set_groups{*this,
                                                                             "cudnnSetConvolutionGroupCount"};
  Imported<Status(ConvolutionDescriptor convolution, int math)> set_math{*this,
                                                                         "cudnnSetConvolutionMathType"};
  Imported<Status(ConvolutionDescriptor convolution)> destroy_convolution{
      *this, "cudnnDestroyConvolutionDescriptor"};
  Imported<Status(Handle handle, TensorDescriptor image, FilterDescriptor filter,
                  ConvolutionDescriptor convolution, TensorDescriptor output, int algorithm,
                  std::size_t* bytes)>
      workspace_size{*this, "cudnnGetConvolutionForwardWorkspaceSize"};
  Imported<Status(Handle handle, const void* alpha, TensorDescriptor image_descriptor, const void* image,
                  FilterDescriptor filter_descriptor, const void* filter, ConvolutionDescriptor convolution,
                  int algorithm, void* workspace, std::size_t bytes, const void* beta,
                  TensorDescriptor output_descriptor, void* output)>
      forward{*this, "cudnnConvolutionForward"};
  Imported<const char*(Status status)> status_text{*this, "cudnnGetErrorString", false};
};

/// cudnnDataType_t.
int cudnn_data_code(DenseType type) {
  return type == DenseType::f16 ? 2 : type == DenseType::bf16 ? 9 : 0;
}

/// cudnnMathType_t. The default of f32 would round to TF32.
int math_code(DenseType type) {
  constexpr int default_math = 0, tensor_cores = 1, fma_only = 3;
  if (type == DenseType::f32) return fma_only;
  return type == DenseType::tf32 ? default_math : tensor_cores;
}

/// In the order of cudnnConvolutionFwdAlgo_t.
constexpr std::array<std::string_view, 8> algorithm_names{
    "implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft", "fft tiling",
    "winograd",      "winograd nonfused"};

constexpr std::size_t most_workspace = std::size_t{2} << 30U;

int algorithm_code(std::string_view name) {
  const auto* found = std::ranges::find(algorithm_names, name);
  if (found != algorithm_names.end()) return static_cast<int>(found - algorithm_names.begin());
  throw UserError("cuDNN has no such algorithm", std::string(name), "one of Cudnn::algorithms()");
}

int checked(std::int64_t extent, std::int64_t least) {
  if (extent >= least && extent <= std::numeric_limits<int>::max()) return static_cast<int>(extent);
  throw UserError("a convolution with cuDNN", "an extent of " + std::to_string(extent),
                  std::to_string(least) + " to " + std::to_string(std::numeric_limits<int>::max()));
}

}  // namespace

struct Cudnn::State : OpenedLibrary<EntryPoints, Handle> {};

namespace {

/// A convolution with its descriptors and workspace.
struct PreparedConvolution {
  std::shared_ptr<OpenedLibrary<EntryPoints, Handle>> library;
  DenseConvolution problem;
  int algorithm = 0;
  TensorDescriptor image = nullptr;
  FilterDescriptor filter = nullptr;
  ConvolutionDescriptor convolution = nullptr;
  TensorDescriptor output = nullptr;
  DeviceMemory workspace = {};

  ~PreparedConvolution() {
    // Descriptors are host memory: no context is needed.
    const EntryPoints& api = library->api;
    if (image != nullptr) api.destroy_tensor(image);
    if (output != nullptr) api.destroy_tensor(output);
    if (filter != nullptr) api.destroy_filter(filter);
    if (convolution != nullptr) api.destroy_convolution(convolution);
  }

  void describe(const std::string& doing) {
    constexpr int nchw = 0, nhwc = 1, cross_correlation = 1, compute_f32 = 0;
    const EntryPoints& api = library->api;
    const int data = cudnn_data_code(problem.type);
    const int format = problem.channels_last ? nhwc : nchw;
    const auto check = [&](Status status) { library->check(status, doing); };
    const auto extent = [](std::int64_t value) { return checked(value, 1); };
    check(api.create_tensor(&image));
    check(api.set_tensor(image, format, data, extent(problem.batch), extent(problem.channels),
                         extent(problem.image[0]), extent(problem.image[1])));
    check(api.create_filter(&filter));
    check(api.set_filter(filter, data, format, extent(problem.filters),
                         extent(problem.channels / problem.groups), extent(problem.filter[0]),
                         extent(problem.filter[1])));
    check(api.create_convolution(&convolution));
    check(api.set_convolution(convolution, checked(problem.pad[0], 0), checked(problem.pad[1], 0),
                              extent(problem.stride[0]), extent(problem.stride[1]),
                              extent(problem.dilation[0]), extent(problem.dilation[1]), cross_correlation,
                              compute_f32));
    check(api.set_groups(convolution, extent(problem.groups)));
    check(api.set_math(convolution, math_code(problem.type)));
    check(api.create_tensor(&output));
    check(api.set_tensor(output, format, data, extent(problem.batch), extent(problem.filters),
                         extent(problem.output[0]), extent(problem.output[1])));
  }

  void launch(StreamHandle stream) const {
    const ContextScope scope(*library->device);
    const float alpha = 1;
    const float beta = 0;
    library->check(library->api.set_stream(library->handle, stream), "giving cuDNN a stream");
    library->check(library->api.forward(library->handle, &alpha, image, device_pointer(problem.image_address),
                                        filter, device_pointer(problem.weights_address), convolution,
                                        algorithm, workspace.data(), workspace.bytes(), &beta, output,
                                        device_pointer(problem.output_address)),
                   "a convolution with cuDNN");
  }
};

}  // namespace

std::optional<Cudnn> Cudnn::open(const Device& device, std::string* reason) {
  const VendorLibrary names{
      "cuDNN",
      {"libcudnn.so.9"},
      {"libcublasLt.so.13", "libcublas.so.13", "libcublasLt.so.12", "libcublas.so.12", "libnvrtc.so.13"}};
  return opened_library<Cudnn, State>(names, device, reason, [&](State& opened) {
    const auto version = static_cast<std::int64_t>(opened.api.get_version());
    opened.set_version(dotted_version(version / 10000, version / 100 % 100, version % 100));
    return std::string();
  });
}

std::span<const std::string_view> Cudnn::algorithms() {
  return algorithm_names;
}

PreparedCall Cudnn::prepare(const DenseConvolution& convolution, std::string_view algorithm) const {
  const ContextScope scope(*state_->device);
  const std::string doing = "preparing a convolution with cuDNN (" + std::string(algorithm) + ")";
  const auto prepared = std::make_shared<PreparedConvolution>(state_, convolution, algorithm_code(algorithm));
  prepared->describe(doing);
  std::size_t bytes = 0;
  state_->check(state_->api.set_stream(state_->handle, nullptr), doing);
  state_->check(
      state_->api.workspace_size(state_->handle, prepared->image, prepared->filter, prepared->convolution,
                                 prepared->output, prepared->algorithm, &bytes),
      doing);
  if (bytes > most_workspace)
    throw RuntimeError(doing + ": it wants a workspace of " + std::to_string(bytes) + " bytes, more than " +
                       std::to_string(most_workspace));
  prepared->workspace = DeviceMemory(*state_->owner, bytes);
  return PreparedCall([prepared](StreamHandle stream) { prepared->launch(stream); });
}

const std::string& Cudnn::version() const {
  return state_->version;
}

}  // namespace weft
