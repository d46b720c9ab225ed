#include "support/run_on_zeros.h"

#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/ir/visit.h>

namespace weft::test {

std::string findings_on_zeros(const ThreadProgram& program, const std::string& ptx, const Target& target,
                              std::int64_t extent) {
  ir::Substitution sizes;
  for (const ir::Variable& open : program.program.extents) sizes.emplace(open.name, ir::Expr(extent));
  const auto size = [&](const ir::Expr& expr) {
    const ir::Expr value = ir::substitute(expr, sizes);
    const std::int64_t* number = ir::integer_value(value);
    internal_check(number != nullptr, "a size that is not known at launch");
    return *number;
  };
  const Device device = Device::simulator(target.name);
  simulator::options(device).tolerates_findings = true;
  std::vector<DeviceMemory> memory;
  std::vector<std::uint64_t> words;
  const auto add = [&](const ir::BufferRef& buffer, bool is_written) {
    std::int64_t last = 0;
    for (std::size_t i = 0; i < buffer->shape.size(); ++i)
      last += (size(buffer->shape[i]) - 1) * size(buffer->strides[i]);
    memory.emplace_back(device, static_cast<std::size_t>(last + 1) * size_of(buffer->dtype));
    if (is_written) memory.back().fill(0);
    words.push_back(memory.back().address());
  };
  for (const ir::BufferRef& buffer : program.program.buffers) add(buffer, true);
  for (const ir::BufferRef& buffer : program.program.workspaces) add(buffer, false);
  words.resize(words.size() + program.program.scalars.size(), 0);
  for (const ir::Variable& open : program.program.extents)
    words.push_back(static_cast<std::uint64_t>(size(ir::variable(open.name))));
  std::vector<void*> arguments;
  for (std::uint64_t& word : words) arguments.push_back(&word);
  const Function function = Module::load(device, ptx).function(program.program.name);
  LaunchShape shape;
  for (std::size_t axis = 0; axis < 3; ++axis)
    shape.grid[axis] = static_cast<unsigned>(size(program.launch.grid[axis]));
  shape.block = {static_cast<unsigned>(program.launch.threads), 1, 1};
  const auto in_image = static_cast<std::int64_t>(function.attributes().static_shared_bytes);
  shape.shared_bytes =
      static_cast<std::size_t>(in_image >= program.launch.shared_bytes ? 0 : program.launch.shared_bytes);
  function.launch(shape, arguments, nullptr);
  const simulator::LaunchReport& report = simulator::last_report(device);
  return report.clean() ? std::string() : report.text();
}

}  // namespace weft::test
