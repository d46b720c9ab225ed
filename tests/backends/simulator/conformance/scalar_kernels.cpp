#include "scalar_kernels.h"

#include <fmt/format.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/runtime/stream.h>

#include <bit>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace weft::simulator::scalar_tests {
namespace {

constexpr unsigned block_threads = 256;
constexpr std::string_view operand_letters = "abce";  // d is the result

std::string_view letter_of(Value value) {
  if (value == Value::predicate) return "%p";
  switch (bytes_of(value)) {
    case 2: return "%h";
    case 8: return "%l";
    default: return "%r";
  }
}

/// Register of operand `which`, 0 for the result.
std::string register_of(const Kernel& kernel, std::size_t which) {
  return fmt::format("{}{}", letter_of(which == 0 ? kernel.result : kernel.sources[which - 1]), which);
}

std::string filled_in(const Kernel& kernel) {
  std::string text;
  for (std::size_t i = 0; i < kernel.body.size(); ++i) {
    if (kernel.body[i] != '$') {
      text += kernel.body[i];
      continue;
    }
    switch (const char name = kernel.body[++i]) {
      case 'd': text += register_of(kernel, 0); break;
      case 't': text += "%r9"; break;
      case 'u': text += "%l9"; break;
      case 'q': text += "%p9"; break;
      default: text += register_of(kernel, operand_letters.find(name) + 1);
    }
  }
  return text;
}

std::string load_of(const Kernel& kernel, std::size_t which) {
  const Value value = kernel.sources[which - 1];
  const std::size_t offset = (which - 1) * rows * 8;
  if (value == Value::predicate)
    return fmt::format("  ld.global.b32 %r8, [%from+{}];\n  setp.ne.b32 %p{}, %r8, 0;\n", offset, which);
  return fmt::format("  ld.global.{} {}, [%from+{}];\n",
                     bytes_of(value) == 1 ? "u8" : fmt::format("b{}", bytes_of(value) * 8),
                     register_of(kernel, which), offset);
}

std::string entry_of(const Kernel& kernel, std::size_t number) {
  std::string text = fmt::format(
      "// {}\n.visible .entry kernel{}(.param .u64 in, .param .u64 out)\n{{\n"
      "  .reg .b64 %l<10>;\n  .reg .b32 %r<10>;\n  .reg .b16 %h<10>;\n  .reg .pred %p<10>;\n"
      "  .reg .b64 %from;\n  .reg .b64 %to;\n  .reg .b64 %step;\n  .reg .b32 %row;\n  .reg .b32 %thread;\n"
      "  ld.param.u64 %from, [in];\n  ld.param.u64 %to, [out];\n"
      "  mov.u32 %row, %ctaid.x;\n  mov.u32 %thread, %tid.x;\n"
      "  mad.lo.u32 %row, %row, {}, %thread;\n  mul.wide.u32 %step, %row, 8;\n"
      "  add.u64 %from, %from, %step;\n  add.u64 %to, %to, %step;\n",
      kernel.name, number, block_threads);
  for (std::size_t which = 1; which <= kernel.sources.size(); ++which) text += load_of(kernel, which);
  text += "  " + filled_in(kernel) + "\n";
  if (kernel.result == Value::predicate) {
    text += "  selp.u32 %r0, 1, 0, %p0;\n  st.global.b32 [%to], %r0;\n";
  } else {
    const int bytes = std::max(bytes_of(kernel.result), 2);
    text += fmt::format("  st.global.b{} [%to], {};\n", bytes * 8, register_of(kernel, 0));
  }
  return text + "  ret;\n}\n";
}

std::uint64_t hash_of(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

/// c near -a * b, so that most of the sum cancels.
void make_cancelling(const Kernel& kernel, std::vector<std::uint64_t>& operands, std::size_t row) {
  if (kernel.sources.size() != 3) return;
  std::uint64_t &a = operands[row], &b = operands[rows + row], &c = operands[2 * rows + row];
  if (kernel.sources[2] == Value::f32) {
    const auto number = [](std::uint64_t bits) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    };
    c = std::bit_cast<std::uint32_t>(-number(a) * number(b));
  } else if (kernel.sources[2] == Value::f64) {
    c = std::bit_cast<std::uint64_t>(-std::bit_cast<double>(a) * std::bit_cast<double>(b));
  }
}

}  // namespace

Kernel& Kernels::add(std::string_view opcode, Value result, std::vector<Value> sources) {
  std::string body = fmt::format("{} $d", opcode);
  for (std::size_t i = 0; i < sources.size(); ++i) body += fmt::format(", ${}", operand_letters[i]);
  return add_body(std::string(opcode), body + ";", result, std::move(sources));
}

Kernel& Kernels::add_body(std::string name, std::string body, Value result, std::vector<Value> sources) {
  all.push_back({std::move(name), std::move(body), result, std::move(sources)});
  return all.back();
}

std::string Group::ptx() const {
  std::string text = ".version 8.3\n.target sm_90a\n.address_size 64\n";
  for (std::size_t i = 0; i < kernels.size(); ++i) text += entry_of(kernels[i], i);
  return text;
}

std::vector<Group> scalar_groups() {
  std::vector<Group> groups;
  const auto make = [&groups](const char* name, void (*fill)(Kernels&)) {
    Kernels kernels;
    fill(kernels);
    groups.push_back({name, std::move(kernels.all)});
  };
  make("integer", add_integer_kernels);
  make("bits", add_bit_kernels);
  make("floating", add_floating_kernels);
  make("special", add_special_kernels);
  make("comparison", add_comparison_kernels);
  make("conversion", add_conversion_kernels);
  return groups;
}

std::vector<std::uint64_t> operands_of(const Kernel& kernel) {
  std::mt19937_64 random(hash_of(kernel.name));
  const std::size_t count = kernel.sources.size();
  std::vector<std::uint64_t> operands(count * rows);
  const auto corner = [&kernel](std::size_t which, std::size_t number) {
    const auto corners = corners_of(kernel.sources[which]);
    return corners[number % corners.size()];
  };
  for (std::size_t row = 0; row < rows; ++row) {
    // First the corner values; with several operands every second row of the kept ones is a pair of them.
    const bool is_corner = row < (count == 1 ? corners_of(kernel.sources[0]).size() : 2 * kept_rows) &&
                           (count == 1 || row % 2 == 0);
    for (std::size_t which = 0; which < count; ++which) {
      operands[which * rows + row] =
          is_corner ? corner(which, count == 1 ? row : random()) : draw(kernel.sources[which], random);
    }
    if (!is_corner && row % 8 == 1) make_cancelling(kernel, operands, row);
  }
  return operands;
}

std::uint64_t signature_of(const Kernel& kernel) {
  const std::vector<std::uint64_t> operands = operands_of(kernel);
  const std::string text = entry_of(kernel, 0);
  return XXH3_64bits_withSeed(operands.data(), operands.size() * 8, hash_of(text));
}

std::vector<std::vector<std::uint64_t>> run(const Device& device, const Group& group) {
  const Module module = Module::load(device, group.ptx());
  std::vector<std::vector<std::uint64_t>> results;
  for (std::size_t i = 0; i < group.kernels.size(); ++i) {
    const Kernel& kernel = group.kernels[i];
    const DeviceMemory in(device, operands_of(kernel));
    DeviceMemory out(device, std::vector<std::uint64_t>(rows));
    std::uint64_t addresses[] = {in.address(), out.address()};
    void* const arguments[] = {&addresses[0], &addresses[1]};
    LaunchShape shape;
    shape.grid = {rows / block_threads, 1, 1};
    shape.block = {block_threads, 1, 1};
    module.function(fmt::format("kernel{}", i)).launch(shape, arguments, nullptr);
    wait_for(device, nullptr);
    results.push_back(out.to_vector<std::uint64_t>());
    for (std::uint64_t& bits : results.back()) bits = with_plain_nan(kernel.result, bits);
  }
  return results;
}

}  // namespace weft::simulator::scalar_tests
