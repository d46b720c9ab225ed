#include "run_ptx.h"

#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>

#include <algorithm>
#include <numeric>

namespace weft::simulator::machine_tests {

std::string framed(std::string_view body, std::string_view functions) {
  return fmt::format(R"(.version 8.3
.target sm_90a
.address_size 64
{}
.visible .entry kernel(.param .u64 data, .param .u64 out)
{{
  .reg .pred %p<8>;
  .reg .b16 %h<8>;
  .reg .b32 %r<32>;
  .reg .b64 %l<16>;
  .reg .f32 %f<16>;
  .shared .align 128 .b8 tile[4096];
  .shared .align 8 .b8 barrier[64];
  ld.param.u64 %l1, [data];
  ld.param.u64 %l2, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r0, %ctaid.x;
{}
  ret;
}}
)",
                     functions, body);
}

std::set<int> marked_lines(std::string_view text) {
  std::set<int> lines;
  int line = 1;
  for (std::size_t start = 0; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (text.substr(start, end - start).find("// here") != std::string_view::npos) lines.insert(line);
    start = end + 1;
  }
  return lines;
}

Outcome run_ptx(const std::string& text, const Launch& launch) {
  const Device device = make_device("sm_90a", {.launch = launch.options, .tolerates_findings = true});
  std::vector<std::uint32_t> words(256);
  std::iota(words.begin(), words.end(), 0U);
  const DeviceMemory data(device, words);
  DeviceMemory out(device, words.size() * sizeof words[0]);
  out.poison();
  name_buffer(device, data.address(), "data");
  name_buffer(device, out.address(), "out");
  std::uint64_t addresses[] = {data.address(), out.address()};
  void* const arguments[] = {&addresses[0], &addresses[1]};
  LaunchShape shape;
  shape.grid = {launch.blocks, 1, 1};
  shape.block = {launch.threads, 1, 1};
  Module::load(device, text).function("kernel").launch(shape, arguments, nullptr);
  return {last_report(device), out.to_vector<std::uint32_t>()};
}

}  // namespace weft::simulator::machine_tests
