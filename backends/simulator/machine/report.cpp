#include <fmt/format.h>
#include <weft/backends/simulator/machine/report.h>

namespace weft::simulator {
namespace {

std::string text_of(const Finding& finding) {
  std::string text = fmt::format("{} at PTX line {}, {}: {}\n", finding.kind, finding.line,
                                 finding.instruction, finding.text);
  text += fmt::format("    block ({}, {}, {}), warp {}", finding.block[0], finding.block[1], finding.block[2],
                      finding.warp);
  if (finding.lane >= 0) text += fmt::format(", lane {}", finding.lane);
  if (finding.address != 0) text += fmt::format(", address {:#x}", finding.address);
  if (!finding.place.empty()) text += fmt::format(", {}", finding.place);
  if (finding.count > 1) text += fmt::format("; {} times at this instruction", finding.count);
  text += '\n';
  if (!finding.origin.empty()) text += fmt::format("    {} is of {}\n", finding.buffer, finding.origin);
  return text;
}

}  // namespace

std::string LaunchReport::text() const {
  std::string text;
  for (const Finding& finding : findings) text += text_of(finding);
  if (findings.empty()) text += "nothing wrong found\n";
  text += fmt::format("{} blocks, {} warp instructions, {} thread instructions\n", blocks, warp_instructions,
                      thread_instructions);
  for (const InstructionCounts& counts : memory) {
    if (counts.shared_passes > counts.least_passes)
      text += fmt::format("line {}, {}: {} passes of shared memory where {} would do\n", counts.line,
                          counts.instruction, counts.shared_passes, counts.least_passes);
    if (counts.sectors > counts.least_sectors)
      text += fmt::format("line {}, {}: {} sectors of global memory where {} would do\n", counts.line,
                          counts.instruction, counts.sectors, counts.least_sectors);
  }
  return text;
}

}  // namespace weft::simulator
