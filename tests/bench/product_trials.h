// Many kernels on many products, in a few milliseconds each: code is loaded once for all products, operands
// lie on the device for all kernels, and outputs are compared there.
#pragma once

#include <weft/backends/kernel.h>
#include <weft/backends/launch_data.h>
#include <weft/backends/runtime/memory.h>
#include <weft/backends/runtime/module.h>
#include <weft/scheduler/recipes/parts/packed.h>
#include <weft/search/measure/checker.h>
#include <weft/search/measure/workload.h>
#include <weft/search/records/records.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace weft {

/// A product on the host, with everything that its trials share.
struct MeasuredProduct {
  SuiteCase chosen;
  Workload workload;
  Array b, c;
  std::shared_ptr<PackedWeights> packed;
  std::shared_ptr<Checker> checker;
  Record record;  ///< problem, pattern, target, toolchain
};

/// `format`: what its records say; `formats`: those that its kernels take the weights in, which are packed
/// here. `device`: null where it is only asked what its records say. f16; weights drawn from the case's
/// sizes.
std::unique_ptr<MeasuredProduct> make_product(const SuiteCase& chosen, const Format& format,
                                              const std::vector<Format>& formats, const Target& target,
                                              const DeviceDescription* device, const std::string& measure);

/// A kernel of any weights in its format, and the point of a recipe that it is made of.
struct StudiedKernel {
  KnobValues point;
  Format format = {};
  std::optional<Kernel> kernel = {};
  std::string failure = {};
};

class ProductTrials {
 public:
  /// `rounds`: samples of a time.
  ProductTrials(const Device& device, int rounds);

  /// Puts the product in the place of the one before.
  void begin(std::unique_ptr<MeasuredProduct> product);
  /// Launches the kernel, compares all of its output, and times it; once only, where its first run took twice
  /// the time of the product's fastest kernel. RuntimeError where the device fails.
  Record trial(const StudiedKernel& studied);

 private:
  const Module& code_of(const StudiedKernel& studied);
  std::uint64_t address_of(const LaunchData::Memory& memory, std::vector<DeviceMemory>& workspaces);
  std::string wrong(Record& record);
  std::int64_t differing() const;
  TrialTime time_of(const PreparedLaunch& launch, double first_microseconds);

  Device device_;
  int rounds_;
  Function compare_;
  DeviceMemory count_;
  std::map<const StudiedKernel*, Module> loaded_;
  std::unique_ptr<MeasuredProduct> product_;
  std::map<const Array*, DeviceMemory> operands_;
  DeviceMemory trusted_;  ///< the first output that was right
  float least_ = 0;       ///< difference that is no error, where an element is near zero
  double fastest_ = 0;    ///< microseconds
};

}  // namespace weft
