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

struct EntryPoints {
  Status (*create)(Handle* handle);
  Status (*destroy)(Handle handle);
  std::size_t (*get_version)();
  Status (*set_stream)(Handle handle, StreamHandle stream);
  Status (*create_tensor)(TensorDescriptor* tensor);
  Status (*set_tensor)(TensorDescriptor tensor, int format, int type, int n, int c, int h, int w);
  Status (*destroy_tensor)(TensorDescriptor tensor);
  Status (*create_filter)(FilterDescriptor* filter);
  Status (*set_filter)(FilterDescriptor filter, int type, int format, int k, int c, int h, int w);
  Status (*destroy_filter)(FilterDescriptor filter);
  Status (*create_convolution)(ConvolutionDescriptor* convolution);
  Status (*set_convolution)(ConvolutionDescriptor convolution, int pad_h, int pad_w, int stride_h,
                            int stride_w, int dilation_h, int dilation_w, int mode, int compute);
  Status (*set_math)(ConvolutionDescriptor convolution, int math);
  Status (*destroy_convolution)(ConvolutionDescriptor convolution);
  Status (*workspace_size)(Handle handle, TensorDescriptor image, FilterDescriptor filter,
                           ConvolutionDescriptor convolution, TensorDescriptor output, int algorithm,
                           std::size_t* bytes);
  Status (*forward)(Handle handle, const void* alpha, TensorDescriptor image_descriptor, const void* image,
                    FilterDescriptor filter_descriptor, const void* filter, ConvolutionDescriptor convolution,
                    int algorithm, void* workspace, std::size_t bytes, const void* beta,
                    TensorDescriptor output_descriptor, void* output);
  const char* (*status_text)(Status status);

  bool resolve(const SharedLibrary& library) {
    library.resolve(status_text, "cudnnGetErrorString");
    return library.resolve(create, "cudnnCreate") && library.resolve(destroy, "cudnnDestroy") &&
           library.resolve(get_version, "cudnnGetVersion") && library.resolve(set_stream, "cudnnSetStream") &&
           library.resolve(create_tensor, "cudnnCreateTensorDescriptor") &&
           library.resolve(set_tensor, "cudnnSetTensor4dDescriptor") &&
           library.resolve(destroy_tensor, "cudnnDestroyTensorDescriptor") &&
           library.resolve(create_filter, "cudnnCreateFilterDescriptor") &&
           library.resolve(set_filter, "cudnnSetFilter4dDescriptor") &&
           library.resolve(destroy_filter, "cudnnDestroyFilterDescriptor") &&
           library.resolve(create_convolution, "cudnnCreateConvolutionDescriptor") &&
           library.resolve(set_convolution, "cudnnSetConvolution2dDescriptor") &&
           library.resolve(set_math, "cudnnSetConvolutionMathType") &&
           library.resolve(destroy_convolution, "cudnnDestroyConvolutionDescriptor") &&
           library.resolve(workspace_size, "cudnnGetConvolutionForwardWorkspaceSize") &&
           library.resolve(forward, "cudnnConvolutionForward");
  }
  Status open(Handle& handle) const { return create(&handle); }
  void close(Handle& handle) const { destroy(handle); }
  void check(Status status, const std::string& doing) const {
    check_status(status, status_text, "cuDNN", doing);
  }
};

/// cudnnDataType_t and cudnnMathType_t of a type. The default of f32 would round to TF32.
struct TypeCodes {
  int data;
  int math;
};

TypeCodes codes_of(DenseType type) {
  constexpr int data_f32 = 0, data_f16 = 2, data_bf16 = 9;
  constexpr int default_math = 0, tensor_cores = 1, fma_only = 3;
  switch (type) {
    case DenseType::f32:
      return {data_f32, fma_only};
    case DenseType::tf32:
      return {data_f32, default_math};
    case DenseType::f16:
      return {data_f16, tensor_cores};
    case DenseType::bf16:
      return {data_bf16, tensor_cores};
  }
  throw InternalError("a DenseType without codes");
}

/// In the order of cudnnConvolutionFwdAlgo_t.
constexpr std::array<std::string_view, 8> algorithm_names{
    "implicit gemm", "implicit precomputed gemm", "gemm", "direct", "fft", "fft tiling",
    "winograd",      "winograd nonfused"};

constexpr std::size_t most_workspace = std::size_t{2} << 30U;

int algorithm_code(std::string_view name) {
  const auto* found = std::find(algorithm_names.begin(), algorithm_names.end(), name);
  if (found != algorithm_names.end()) return static_cast<int>(found - algorithm_names.begin());
  throw UserError({"cuDNN has no such algorithm", {}, std::string(name), "one of Cudnn::algorithms()"});
}

int checked(std::int64_t extent, std::int64_t least) {
  if (extent >= least && extent <= std::numeric_limits<int>::max()) return static_cast<int>(extent);
  throw UserError({"a convolution with cuDNN",
                   {},
                   "an extent of " + std::to_string(extent),
                   std::to_string(least) + " to " + std::to_string(std::numeric_limits<int>::max())});
}

}  // namespace

struct Cudnn::State : OpenedLibrary<EntryPoints, Handle> {};

struct Cudnn::Product::State {
  std::shared_ptr<Cudnn::State> library;
  TensorDescriptor image = nullptr;
  FilterDescriptor filter = nullptr;
  ConvolutionDescriptor convolution = nullptr;
  TensorDescriptor output = nullptr;
  DenseConvolution problem;
  DeviceMemory workspace;
  int algorithm = 0;

  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
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
    const TypeCodes codes = codes_of(problem.type);
    const int format = problem.channels_last ? nhwc : nchw;
    const auto extent = [](std::int64_t value) { return checked(value, 1); };
    api.check(api.create_tensor(&image), doing);
    api.check(api.set_tensor(image, format, codes.data, extent(problem.batch), extent(problem.channels),
                             extent(problem.image[0]), extent(problem.image[1])),
              doing);
    api.check(api.create_filter(&filter), doing);
    api.check(api.set_filter(filter, codes.data, format, extent(problem.filters), extent(problem.channels),
                             extent(problem.filter[0]), extent(problem.filter[1])),
              doing);
    api.check(api.create_convolution(&convolution), doing);
    api.check(
        api.set_convolution(convolution, checked(problem.pad[0], 0), checked(problem.pad[1], 0),
                            extent(problem.stride[0]), extent(problem.stride[1]), extent(problem.dilation[0]),
                            extent(problem.dilation[1]), cross_correlation, compute_f32),
        doing);
    api.check(api.set_math(convolution, codes.math), doing);
    api.check(api.create_tensor(&output), doing);
    api.check(api.set_tensor(output, format, codes.data, extent(problem.batch), extent(problem.filters),
                             extent(problem.output[0]), extent(problem.output[1])),
              doing);
  }
};

std::optional<Cudnn> Cudnn::open(const Device& device, std::string* reason) {
  const VendorLibrary names{
      "cuDNN",
      {"libcudnn.so.9"},
      {"libcublasLt.so.13", "libcublas.so.13", "libcublasLt.so.12", "libcublas.so.12", "libnvrtc.so.13"}};
  auto state = opened_library<State>(names, device, reason, [&](State& opened) {
    const auto version = static_cast<std::int64_t>(opened.api.get_version());
    opened.set_version(names.name, dotted_version(version / 10000, version / 100 % 100, version % 100));
    return std::string();
  });
  if (state == nullptr) return std::nullopt;
  Cudnn cudnn;
  cudnn.state_ = std::move(state);
  return cudnn;
}

std::span<const std::string_view> Cudnn::algorithms() {
  return algorithm_names;
}

Cudnn::Product Cudnn::prepare(const DenseConvolution& convolution, std::string_view algorithm) const {
  const EntryPoints& api = state_->api;
  const ContextScope scope(*state_->device);
  const std::string doing = "preparing a convolution with cuDNN (" + std::string(algorithm) + ")";
  auto state = std::make_shared<Product::State>();
  state->library = state_;
  state->problem = convolution;
  state->algorithm = algorithm_code(algorithm);
  state->describe(doing);
  std::size_t bytes = 0;
  api.check(api.set_stream(state_->handle, nullptr), doing);
  api.check(api.workspace_size(state_->handle, state->image, state->filter, state->convolution, state->output,
                               state->algorithm, &bytes),
            doing);
  if (bytes > most_workspace) {
    throw RuntimeError(doing + ": it wants a workspace of " + std::to_string(bytes) + " bytes, more than " +
                       std::to_string(most_workspace));
  }
  state->workspace = DeviceMemory(*state_->owner, bytes);
  Product prepared;
  prepared.state_ = std::move(state);
  return prepared;
}

void Cudnn::Product::launch(StreamHandle stream) const {
  const Cudnn::State& library = *state_->library;
  const ContextScope scope(*library.device);
  const float alpha = 1;
  const float beta = 0;
  library.api.check(library.api.set_stream(library.handle, stream), "giving cuDNN a stream");
  library.api.check(library.api.forward(
                        library.handle, &alpha, state_->image, device_pointer(state_->problem.image_address),
                        state_->filter, device_pointer(state_->problem.weights_address), state_->convolution,
                        state_->algorithm, state_->workspace.data(), state_->workspace.bytes(), &beta,
                        state_->output, device_pointer(state_->problem.output_address)),
                    "a convolution with cuDNN");
}

const std::string& Cudnn::version() const {
  return state_->version;
}

}  // namespace weft
