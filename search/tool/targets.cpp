// weft targets: what kernels can be made for.
#include <fmt/format.h>
#include <weft/scheduler/hardware/processor_level.h>
#include <weft/scheduler/hardware/simulated_target.h>
#include <weft/scheduler/hardware/target.h>
#include <weft/search/tool/pages.h>
#include <weft/search/tool/table.h>

#include <array>
#include <nlohmann/json.hpp>

namespace weft::tool {
namespace {

struct TargetLimit {
  const char* name;
  const char* meaning;
  std::int64_t Target::* number;
};
constexpr std::array target_limits{
    TargetLimit{"shared_bytes_per_block", "bytes of shared memory that a block may have",
                &Target::shared_bytes_per_block},
    TargetLimit{"shared_bytes_per_multiprocessor", "that a multiprocessor has",
                &Target::shared_bytes_per_multiprocessor},
    TargetLimit{"shared_bytes_reserved", "of these, the system's, a block", &Target::shared_bytes_reserved},
    TargetLimit{"registers_per_thread", "registers that a thread may have", &Target::registers_per_thread},
    TargetLimit{"registers_per_multiprocessor", "that a multiprocessor has",
                &Target::registers_per_multiprocessor},
    TargetLimit{"threads_per_block", "threads that a block may have", &Target::threads_per_block},
    TargetLimit{"threads_per_multiprocessor", "that a multiprocessor holds",
                &Target::threads_per_multiprocessor},
    TargetLimit{"blocks_per_multiprocessor", "blocks that a multiprocessor holds",
                &Target::blocks_per_multiprocessor},
    TargetLimit{"cluster_blocks", "blocks of the largest cluster; 0: there are none",
                &Target::cluster_blocks},
};

std::string runs_on(const Target& target) {
  if (const ProcessorLevel* level = processor_level(target.name))
    return fmt::format("processors of {} ({}) and newer", level->name, level->vectors);
  if (!target.is_gpu()) return "this machine's processors";
  if (is_simulated_only(target)) return "the simulator alone";
  return fmt::format("GPUs of sm_{}{}, and the simulator", target.sm,
                     target.architecture_specific ? " alone" : " and newer");
}

std::string table_of_targets() {
  Table table({"target", "shared memory a block", "registers a thread", "threads a block", "PTX", "runs on"});
  for (const Target& t : targets()) {
    if (t.is_gpu())
      table.row({t.name, std::to_string(t.shared_bytes_per_block), std::to_string(t.registers_per_thread),
                 std::to_string(t.threads_per_block), t.ptx_version, runs_on(t)});
    else
      table.row({t.name, "", "", "", "", runs_on(t)});
  }
  return table.text();
}

std::string page_of_target(std::string_view name) {
  const Target& target = target_named(name);
  std::string text = fmt::format("{}: runs on {}\n", target.name, runs_on(target));
  if (!target.is_gpu()) return text;
  Table table({"limit", "number", "what it counts"});
  for (const TargetLimit& limit : target_limits)
    table.row({limit.name, std::to_string(target.*limit.number), limit.meaning});
  return text + fmt::format("PTX {}\n\n{}", target.ptx_version, table.text());
}

nlohmann::ordered_json json_of_target(std::string_view name) {
  const Target& target = target_named(name);
  nlohmann::ordered_json document{{"name", target.name}, {"runs_on", runs_on(target)}};
  if (!target.is_gpu()) return document;
  document["sm"] = target.sm;
  document["ptx"] = target.ptx_version;
  for (const TargetLimit& limit : target_limits) document[limit.name] = target.*limit.number;
  return document;
}

}  // namespace

void add_targets(CLI::App& app, Action& action) {
  add_pages(app, action,
            {.verb = "targets",
             .one = "target",
             .summary = "what kernels can be made for, and its limits",
             .example = "sm_90a",
             .names = [] { return names_of(targets()); },
             .table = table_of_targets,
             .page = page_of_target,
             .json = json_of_target});
}

}  // namespace weft::tool
