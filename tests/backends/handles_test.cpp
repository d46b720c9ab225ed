// Handles that hold nothing: every call answers with a sentence and the caller's line.
#include <gmock/gmock.h>
#include <weft/backends/export/export.h>
#include <weft/backends/kernel.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/backends/runtime/timing.h>
#include <weft/backends/simulator/device.h>
#include <weft/dsl/errors.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/examples.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

using Call = std::function<void()>;

void expect_refused(const std::vector<std::pair<const char*, Call>>& calls, const std::string& handle) {
  for (const auto& [name, call] : calls) {
    try {
      call();
      ADD_FAILURE() << name << " of an empty " << handle << " is accepted";
    } catch (const UserError& error) {
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("an empty " + handle + " is used"), HasSubstr("handles_test.cpp:"),
                        HasSubstr("found:"), HasSubstr("accepted:")))
          << name;
    }
  }
}

TEST(Handles, AnEmptyKernelAnswersEveryCall) {
  const Kernel kernel;
  expect_refused({{"schedule", [&] { kernel.schedule(); }},
                  {"target", [&] { kernel.target(); }},
                  {"lowered", [&] { kernel.lowered(); }},
                  {"program_text", [&] { kernel.program_text(); }},
                  {"ptx", [&] { kernel.ptx(); }},
                  {"cuda_source", [&] { kernel.cuda_source(); }},
                  {"assembly", [&] { kernel.assembly(); }},
                  {"cubin", [&] { kernel.cubin(); }},
                  {"with_ptx", [&] { kernel.with_ptx({}); }},
                  {"resources", [&] { kernel.resources(); }},
                  {"explain", [&] { kernel.explain(); }},
                  {"bind", [&] { kernel.bind(Device::cpu(), {}); }},
                  {"operator()", [&] { kernel(Device::cpu(), {}); }},
                  {"write_to", [&] { kernel.write_to("nowhere"); }},
                  {"export_to", [&] { kernel.export_to("nowhere", {}); }}},
                 "Kernel");
}

TEST(Handles, AnEmptyBoundKernelAnswersEveryCall) {
  const BoundKernel bound;
  Array array(DType::f32, {1});
  expect_refused({{"launch", [&] { bound.launch(nullptr); }},
                  {"poison_output", [&] { bound.poison_output(); }},
                  {"upload", [&] { bound.upload("B", array); }},
                  {"download", [&] { bound.download("C", array); }},
                  {"use_memory", [&] { bound.use_memory("C", 64); }},
                  {"address", [&] { bound.address("C"); }}},
                 "BoundKernel");
}

TEST(Handles, ADeviceThatWasMovedFromAnswersEveryCall) {
  Device device = Device::cpu();
  const Device kept = std::move(device);
  Array array(DType::f32, {1});
  const Kernel kernel = compile(test::spmm_schedule("cpu"));
  expect_refused({{"of nothing", [] { Device(nullptr); }},
                  {"kind", [&] { device.kind(); }},
                  {"is_cuda", [&] { device.is_cuda(); }},
                  {"name", [&] { device.name(); }},
                  {"description", [&] { device.description(); }},
                  {"implementation", [&] { device.implementation(); }},
                  {"bind", [&] { kernel.bind(device, {}); }},
                  {"operator()", [&] { kernel(device, {}); }},
                  {"DeviceMemory", [&] { DeviceMemory(device, 16); }},
                  {"Stream", [&] { Stream{device}; }},
                  {"wait_for", [&] { wait_for(device, nullptr); }},
                  {"time", [&] { time(device, [](StreamHandle) {}); }},
                  {"Module::load", [&] { Module::load(device, ".version 7.0"); }},
                  {"options", [&] { simulator::options(device); }},
                  {"last_report", [&] { simulator::last_report(device); }},
                  {"last_estimate", [&] { simulator::last_estimate(device); }}},
                 "Device");
}

TEST(Handles, AModuleAndAFunctionThatWereMovedFromAnswerEveryCall) {
  const Kernel kernel = compile(test::spmm_schedule("sm_80"), {.assemble = false});
  Module module = Module::load(Device::simulator("sm_80"), kernel.ptx());
  Function function = module.function(kernel.lowered().program.name);
  const Module kept_module = std::move(module);
  const Function kept_function = std::move(function);
  expect_refused({{"function", [&] { module.function("spmm"); }},
                  {"variable", [&] { module.variable("spmm"); }},
                  {"log", [&] { module.log(); }}},
                 "Module");
  expect_refused({{"name", [&] { function.name(); }},
                  {"attributes", [&] { function.attributes(); }},
                  {"blocks_per_multiprocessor", [&] { function.blocks_per_multiprocessor({}); }},
                  {"launch", [&] { function.launch({}, {}, nullptr); }},
                  {"implementation", [&] { function.implementation(); }}},
                 "Function");
}

}  // namespace
}  // namespace weft
