// Four packages under one interface, so that a test is written once.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "baked.h"
#include "grouped.h"
#include "plain.h"
#include "split.h"

inline void require(bool holds, const std::string& what) {
  if (holds) return;
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}
inline void require(cudaError_t error, const std::string& what) {
  require(error == cudaSuccess, what + ": " + cudaGetErrorString(error));
}

inline std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(static_cast<bool>(file), "cannot read " + path);
  std::vector<char> data{std::istreambuf_iterator<char>(file), {}};
  return data;
}

/// `Element`: of B and C. `sizes`: whether a call has a size; else columns are 33.
#define ADAPTER(Name, NAME, Package, Type, error)                                                            \
  struct Name {                                                                                              \
    using Element = Type;                                                                                    \
    using Args = Package##_args;                                                                             \
    using Handle = Package;                                                                                  \
    static constexpr int rows = NAME##_ROWS, columns = NAME##_COLUMNS;                                       \
    static constexpr double allowed = error;                                                                 \
    static const char* name() {                                                                              \
      return #Package;                                                                                       \
    }                                                                                                        \
    static Handle* open(const std::vector<char>& weights, int device = -1) {                                 \
      char why[256] = "";                                                                                    \
      Package##_open_desc desc = NAME##_OPEN_DESC;                                                           \
      desc.device = device;                                                                                  \
      Handle* handle = nullptr;                                                                              \
      desc.weights = weights.data();                                                                         \
      desc.weights_bytes = weights.size();                                                                   \
      desc.why = why;                                                                                        \
      desc.why_bytes = sizeof why;                                                                           \
      require(Package##_open(&desc, &handle) == 0, std::string("open " #Package ": ") + why);                \
      return handle;                                                                                         \
    }                                                                                                        \
    static void close(Handle* handle) {                                                                      \
      Package##_close(handle);                                                                               \
    }                                                                                                        \
    static int launch(const Handle* handle, const Args& args, void* ws, size_t bytes, cudaStream_t stream) { \
      return Package##_launch(handle, &args, ws, bytes, stream);                                             \
    }                                                                                                        \
    static size_t workspace(const Handle* handle, const Args& args) {                                        \
      size_t bytes = 0;                                                                                      \
      require(Package##_workspace(handle, &args, &bytes, nullptr) == 0, "workspace of " #Package);           \
      return bytes;                                                                                          \
    }                                                                                                        \
    static void reference(const std::vector<char>& weights, const Args& args) {                              \
      require(Package##_reference(weights.data(), weights.size(), &args) == 0, "reference of " #Package);    \
    }                                                                                                        \
  }

ADAPTER(Plain, PLAIN, plain, float, 1e-4);
ADAPTER(Baked, BAKED, baked, float, 1e-4);
ADAPTER(Grouped, GROUPED, grouped, __half, 4e-2);
ADAPTER(Split, SPLIT, split, float, 1e-4);
#undef ADAPTER

template <class Args>
void set_size(Args& args, int n) {
  args.n = n;
}
inline void set_size(split_args&, int) {}
template <class Args>
void set_epilogue(Args&, const void*) {}
inline void set_epilogue(plain_args& args, const void* bias) {
  args.bias = bias;
  args.alpha = 0.5f;
  args.beta = 0.0f;
}
template <class P>
bool takes(int n) {
  return n <= 512;
}
template <>
inline bool takes<Split>(int n) {
  return n == 33;
}

/// Operands of one call on the host and on the device.
template <class P>
struct Operands {
  using Element = typename P::Element;
  int n;
  std::vector<Element> b, c;
  std::vector<float> bias;
  Element *device_b = nullptr, *device_c = nullptr;
  float* device_bias = nullptr;
  void* workspace = nullptr;
  size_t workspace_bytes = 0;
  unsigned flags = 0;

  Operands(const typename P::Handle* handle, int width, unsigned seed)
      : n(width),
        b(static_cast<size_t>(P::columns) * width),
        c(static_cast<size_t>(P::rows) * width),
        bias(P::rows, 0.25f) {
    draw(seed);
    require(cudaMalloc(&device_b, b.size() * sizeof(Element)), "memory");
    require(cudaMalloc(&device_c, c.size() * sizeof(Element)), "memory");
    require(cudaMalloc(&device_bias, bias.size() * sizeof(float)), "memory");
    require(cudaMemcpy(device_bias, bias.data(), bias.size() * sizeof(float), cudaMemcpyHostToDevice),
            "copy");
    workspace_bytes = P::workspace(handle, on_device());
    // Anything may stand in a workspace.
    if (workspace_bytes > 0) require(cudaMalloc(&workspace, workspace_bytes), "memory");
    if (workspace_bytes > 0) require(cudaMemset(workspace, 0xA5, workspace_bytes), "memset");
    upload();
  }
  Operands(const Operands&) = delete;
  ~Operands() {
    cudaFree(device_b);
    cudaFree(device_c);
    cudaFree(device_bias);
    cudaFree(workspace);
  }
  void draw(unsigned seed) {
    for (Element& each : b) {
      seed = seed * 1664525u + 1013904223u;
      each = static_cast<Element>(static_cast<float>(seed >> 20) / 2048.0f - 1.0f);
    }
  }
  void upload() {
    require(cudaMemcpy(device_b, b.data(), b.size() * sizeof(Element), cudaMemcpyHostToDevice), "copy");
    // NaN, so that an element that is not written shows; with beta = 0 it must not come through.
    require(cudaMemset(device_c, std::string(P::name()) == "plain" ? 0 : 0xFF, c.size() * sizeof(Element)),
            "memset");
  }
  typename P::Args on_device() const {
    typename P::Args args = {};
    args.struct_size = sizeof args;
    args.flags = flags;
    set_size(args, n);
    args.b = device_b;
    args.c = device_c;
    set_epilogue(args, device_bias);
    return args;
  }
  void launch(const typename P::Handle* handle, cudaStream_t stream) const {
    require(P::launch(handle, on_device(), workspace, workspace_bytes, stream) == 0,
            std::string("launch ") + P::name());
  }
  /// Compares with the reference; what was launched has been waited for.
  void compare(const std::vector<char>& weights, const std::string& what) {
    std::vector<Element> result(c.size());
    require(cudaMemcpy(result.data(), device_c, c.size() * sizeof(Element), cudaMemcpyDeviceToHost), what);
    typename P::Args args = on_device();
    args.b = b.data();
    args.c = c.data();
    set_epilogue(args, bias.data());
    std::fill(c.begin(), c.end(), static_cast<Element>(0.0f));
    P::reference(weights, args);
    for (size_t i = 0; i < c.size(); ++i) {
      const double difference = std::fabs(static_cast<double>(static_cast<float>(result[i])) -
                                          static_cast<double>(static_cast<float>(c[i])));
      if (difference <= P::allowed * (1 + std::fabs(static_cast<double>(static_cast<float>(c[i]))))) continue;
      require(false, what + ", " + P::name() + ", size " + std::to_string(n) + ", element " +
                         std::to_string(i) + ": " + std::to_string(static_cast<float>(result[i])) +
                         ", expected " + std::to_string(static_cast<float>(c[i])));
    }
  }
};
