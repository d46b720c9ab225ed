#include <weft/backends/simulator/ptx/operands.h>

namespace weft::simulator::ptx {
namespace {

// PTX ISA, chapter 10, in alphabetical order.
constexpr std::string_view with_dimensions =
    "cluster_ctaid cluster_nctaid clusterid ctaid nclusterid nctaid ntid tid";
constexpr std::string_view scalars =
    "aggr_smem_size clock clock64 clock_hi cluster_ctarank cluster_nctarank current_graph_exec "
    "dynamic_smem_size globaltimer globaltimer_hi globaltimer_lo gridid is_explicit_cluster laneid "
    "lanemask_eq lanemask_ge lanemask_gt lanemask_le lanemask_lt nsmid nwarpid reserved_smem_offset_0 "
    "reserved_smem_offset_1 reserved_smem_offset_begin reserved_smem_offset_cap reserved_smem_offset_end "
    "smid total_smem_size warpid warpsize";

/// "envreg" and a number below `count`.
bool is_numbered(std::string_view name, std::string_view prefix, int count) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  if (name.empty() || name.size() > 2 || (name.size() == 2 && name[0] == '0')) return false;
  int number = 0;
  for (const char c : name) {
    if (c < '0' || c > '9') return false;
    number = number * 10 + (c - '0');
  }
  return number < count;
}

}  // namespace

bool is_special_register(std::string_view name, bool& has_dimensions) {
  has_dimensions = false;
  if (name.size() < 2 || name[0] != '%') return false;
  name.remove_prefix(1);
  has_dimensions = lists(with_dimensions, name);
  if (has_dimensions || lists(scalars, name)) return true;
  if (is_numbered(name, "envreg", 32) || is_numbered(name, "pm", 8)) return true;
  return name.ends_with("_64") && is_numbered(name.substr(0, name.size() - 3), "pm", 8);
}

}  // namespace weft::simulator::ptx
