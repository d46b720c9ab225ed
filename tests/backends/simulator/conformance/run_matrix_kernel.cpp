#include "run_matrix_kernel.h"

#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>

#include <array>
#include <cmath>
#include <cstring>

namespace weft::simulator::testing {

std::vector<std::uint32_t> run(const Device& device, const MatrixKernel& kernel) {
  const std::size_t out_bytes = kernel.expected.size() * static_cast<std::size_t>(bytes_of(kernel.result));
  DeviceMemory in(device, kernel.input.size() * 4), out(device, out_bytes);
  in.upload(kernel.input.data(), kernel.input.size() * 4);
  std::uint64_t addresses[] = {in.address(), out.address()};
  const std::array<void*, 2> arguments{&addresses[0], &addresses[1]};
  Stream stream(device);
  const Module module = Module::load(device, kernel.ptx);
  module.function("kernel").launch({.block = {static_cast<unsigned>(kernel.threads), 1, 1}}, arguments,
                                   stream.handle());
  stream.wait();
  std::vector<std::uint32_t> words(out_bytes / 4);
  out.download(words.data(), out_bytes);
  return words;
}

std::string differences(const MatrixKernel& kernel, const std::vector<std::uint32_t>& out, double tolerance) {
  constexpr int most = 4;
  int count = 0;
  std::string text;
  const auto size = static_cast<std::size_t>(bytes_of(kernel.result));
  for (std::size_t i = 0; i < kernel.expected.size(); ++i) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, reinterpret_cast<const char*>(out.data()) + i * size, size);
    const double found = decode(kernel.result, bits), expected = kernel.expected[i];
    if (std::abs(found - expected) <= tolerance) continue;
    if (++count <= most) text += fmt::format("\n  element {}: {} instead of {}", i, found, expected);
  }
  return count == 0 ? ""
                    : fmt::format("{}: {} of {} differ{}", kernel.name, count, kernel.expected.size(), text);
}

}  // namespace weft::simulator::testing
