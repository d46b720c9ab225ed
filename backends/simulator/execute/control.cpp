// Branches, exits, barriers of blocks and clusters, fences.
#include <fmt/format.h>
#include <weft/backends/simulator/machine/control_flow.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/timer.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>

namespace weft::simulator {

void run_branch(Warp& warp, const Operation& operation) {
  warp.diverge(operation, static_cast<std::int32_t>(operation.immediate), warp.active());
}

void run_branch_table(Warp& warp, const Operation& operation) {
  const auto& targets = warp.machine().code().branch_tables[operation.variant];
  const std::uint32_t* index = warp.source<std::uint32_t>(operation, 0);
  std::vector<Warp::Branch> ways;
  for (Mask rest = warp.active(); rest != 0;) {
    const int first = std::countr_zero(rest);
    Mask same = 0;
    for (const std::size_t lane : lanes_of(rest))
      if (index[lane] == index[first]) same |= Mask{1} << lane;
    rest &= ~same;
    if (index[first] < targets.size()) {
      ways.push_back({targets[index[first]], same});
    } else {
      warp.report(operation, "out of bounds",
                  fmt::format("entry {} of a branch table of {}", index[first], targets.size()), first);
      warp.leave(same);
    }
  }
  if (!ways.empty()) warp.diverge(operation, ways);
}

namespace {

/// setmaxnreg. Warps that ask for more wait until others of the block gave as many up, which happens here at
/// once: what they ask for in all is looked at when the block is done.
void set_registers(Warp& warp, const Operation& operation) {
  const int lane = std::countr_zero(warp.active());
  warp.block().registers[&warp] = warp.source<std::uint32_t>(operation, operation.results)[lane];
}

void check_registers(Warp& last, const Operation& operation) {
  const Block& block = last.block();
  const auto is_done = [](const std::unique_ptr<Warp>& warp) { return warp->unfinished() == 0; };
  if (block.registers.empty() || !std::ranges::all_of(block.warps, is_done)) return;
  // Of a multiprocessor and of a thread, wherever there is the instruction; shared out in eights.
  constexpr std::size_t of_multiprocessor = 65536, of_thread = 255;
  const std::size_t warps = block.warps.size();
  const std::size_t each = std::min(of_thread, of_multiprocessor / (warps * lanes) / 8 * 8);
  std::size_t asked = (warps - block.registers.size()) * each;
  for (const auto& [warp, registers] : block.registers) asked += registers;
  if (asked <= warps * each) return;
  last.report(
      operation, "registers",
      fmt::format("the {} warps of a block ask for {} registers in all and begin with {}: on a device some "
                  "wait for ever",
                  warps, asked * lanes, warps * each * lanes));
}

}  // namespace

void run_exit(Warp& warp, const Operation& operation) {
  warp.leave(warp.active());
  check_registers(warp, operation);
}

namespace {

void gather(Warp& warp, NamedBarrier& barrier) {
  warp.loads_matrices = false;
  barrier.gathered.join(warp.view());
  warp.tick();
}

/// Everybody is there: all learn what all knew, and go on.
void release(Warp& last, NamedBarrier& barrier) {
  for (Warp* warp : barrier.waiting) {
    warp->view().join(barrier.gathered);
    warp->view_changed();
    warp->wake();
  }
  if (Timer* timer = last.machine().timer(); timer != nullptr) timer->met(barrier.waiting);
  barrier.waiting.clear();
  barrier.gathered = View();
  barrier.arrived = 0;
  barrier.expected = 0;
  last.machine().note_progress();
}

enum BarrierKind : std::uint16_t { synchronise, arrive_only, vote_and, vote_or, vote_count };

/// bar.red's result, when all votes are in.
void give_votes(NamedBarrier& barrier, BarrierKind kind) {
  for (Warp* warp : barrier.waiting)
    warp->give_vote(kind == vote_and  ? barrier.votes_all != 0
                    : kind == vote_or ? barrier.votes_any
                                      : false,
                    barrier.votes);
  barrier.votes_all = all_lanes;
  barrier.votes_any = false;
  barrier.votes = 0;
}

void meet_at_barrier(Warp& warp, const Operation& operation) {
  const auto kind = static_cast<BarrierKind>(operation.variant);
  const std::size_t first = operation.results;
  const int lane = std::countr_zero(warp.active());
  const std::uint32_t number = warp.source<std::uint32_t>(operation, first)[lane];
  const bool is_vote = kind >= vote_and;
  const bool has_count = operation.count > first + (is_vote ? 2U : 1U);
  const auto all = static_cast<std::uint32_t>(warp.block().warps.size() * lanes);
  const std::uint32_t wanted = has_count ? warp.source<std::uint32_t>(operation, first + 1)[lane] : all;
  if (number >= warp.block().named.size() || wanted % lanes != 0 || wanted == 0 || wanted > all) {
    warp.report(operation, "barrier",
                fmt::format("barrier {} for {} threads of a block of {}", number, wanted, all));
    return;
  }
  if (warp.active() != warp.unfinished())
    warp.report(operation, "barrier",
                fmt::format("only lanes {:#010x} of {:#010x} reach it", warp.active(), warp.unfinished()));
  NamedBarrier& barrier = warp.block().named[number];
  if (barrier.expected != 0 && barrier.expected != wanted)
    warp.report(
        operation, "barrier",
        fmt::format("expects {} threads, others at the same barrier expect {}", wanted, barrier.expected));
  barrier.expected = wanted;
  barrier.arrived += lanes;
  gather(warp, barrier);
  if (is_vote) {
    const Mask votes = warp.mask(operation, operation.count - 1U) & warp.active();
    if (votes != warp.active()) barrier.votes_all = 0;
    barrier.votes_any = barrier.votes_any || votes != 0;
    barrier.votes += static_cast<std::uint32_t>(std::popcount(votes));
    warp.expect_vote(operation);
  }
  if (kind != arrive_only) {
    warp.block_here();
    barrier.waiting.push_back(&warp);
  }
  if (barrier.arrived >= barrier.expected) {
    if (is_vote) give_votes(barrier, kind);
    release(warp, barrier);
  }
}

Handler choose_barrier(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::control;
  operation.results = 0;
  if (instruction.has("cluster")) return nullptr;
  operation.variant = synchronise;
  if (instruction.has("arrive")) operation.variant = arrive_only;
  if (instruction.has("red")) {
    operation.results = 1;
    operation.variant = instruction.has("and") ? vote_and : instruction.has("or") ? vote_or : vote_count;
  }
  const bool is_known = instruction.has("sync") || instruction.has("arrive") || instruction.has("red");
  return is_known && operation.count > operation.results ? meet_at_barrier : nullptr;
}

void arrive_at_cluster(Warp& warp, const Operation& operation) {
  Cluster& cluster = *warp.block().cluster;
  NamedBarrier& barrier = cluster.barrier;
  // .relaxed orders nothing.
  if (operation.variant == 0) gather(warp, barrier);
  warp.cluster_phase = cluster.barrier_phase;
  ++barrier.arrived;
  std::size_t warps = 0;
  for (const auto& block : cluster.blocks) warps += block->warps.size();
  if (barrier.arrived < warps) return;
  ++cluster.barrier_phase;
  cluster.barrier_view = barrier.gathered;
  release(warp, barrier);
}

void wait_for_cluster(Warp& warp, const Operation&) {
  Cluster& cluster = *warp.block().cluster;
  if (cluster.barrier_phase > warp.cluster_phase) {
    warp.view().join(cluster.barrier_view);
    warp.view_changed();
    return;
  }
  warp.block_here();
  cluster.barrier.waiting.push_back(&warp);
}

Handler choose_cluster_barrier(const Instruction& instruction, Operation& operation) {
  if (!instruction.has("cluster")) return nullptr;
  operation.pipe = Pipe::control;
  operation.results = 0;
  operation.variant = instruction.has("relaxed") ? 1 : 0;
  if (instruction.has("arrive")) return arrive_at_cluster;
  return instruction.has("wait") ? wait_for_cluster : nullptr;
}

void fence(Warp& warp, const Operation&) {
  View& view = warp.view();
  view.seen.join(warp.heard().seen);
  view.seen.join(warp.heard().fenced_in_block);
  view.proxied.join(warp.heard().proxied);
  view.proxied_global.join(warp.heard().proxied_global);
  warp.heard() = View();
  view.fenced = view.seen;
  view.fenced_in_block = Knowledge();
  warp.loads_matrices = false;
  warp.tick();
}

/// Of .cta scope: others of the block only hear of it, and it only hears of them.
void fence_in_block(Warp& warp, const Operation&) {
  warp.view().seen.join(warp.heard().fenced_in_block);
  warp.view().fenced_in_block = warp.view().seen;
  warp.loads_matrices = false;
  warp.tick();
}

/// Of Operation::variant: the memory that a proxy fence is for.
enum FencedMemory : std::uint16_t { shared_memory = 1, global_memory = 2 };

void fence_proxy(Warp& warp, const Operation& operation) {
  View& view = warp.view();
  if ((operation.variant & shared_memory) != 0) view.proxied = view.seen;
  if ((operation.variant & global_memory) != 0) view.proxied_global = view.seen;
  warp.tick();
}

Handler choose_fence(const Instruction& instruction, Operation& operation) {
  operation.pipe = Pipe::control;
  operation.results = 0;
  if (!instruction.has("proxy")) return instruction.has("cta") ? fence_in_block : fence;
  for (const std::string& modifier : instruction.modifiers) {
    if (!modifier.starts_with("async")) continue;
    const bool for_global = modifier.ends_with("global") || instruction.has("global");
    const bool for_shared = modifier.find("shared") != std::string::npos || instruction.has("shared::cta") ||
                            instruction.has("shared::cluster");
    operation.variant = 0;
    if (for_global || !for_shared) operation.variant |= global_memory;
    if (for_shared || !for_global) operation.variant |= shared_memory;
    return fence_proxy;
  }
  return do_nothing;
}

template <Handler handler>
Handler without_results(const Instruction&, Operation& operation) {
  operation.pipe = Pipe::control;
  operation.results = 0;
  return handler;
}

void trap(Warp& warp, const Operation& operation) {
  warp.report(operation, "trap", "the kernel gave up");
  warp.leave(warp.active());
}

void sleep(Warp& warp, const Operation&) {
  warp.poll();
}

constexpr Opcode table[] = {
    {"ret", without_results<run_exit>},
    {"exit", without_results<run_exit>},
    {"bar",
     [](const Instruction& instruction, Operation& operation) -> Handler {
       return instruction.has("warp") ? without_results<do_nothing>(instruction, operation)
                                      : choose_barrier(instruction, operation);
     }},
    {"barrier", choose_barrier},
    {"barrier", choose_cluster_barrier},
    {"membar", choose_fence},
    {"fence", choose_fence},
    {"trap", without_results<trap>},
    {"nanosleep", without_results<sleep>},
    {"setmaxnreg", without_results<set_registers>},
    {"griddepcontrol", without_results<do_nothing>},
    {"pmevent", without_results<do_nothing>},
    {"discard", without_results<do_nothing>},
};

}  // namespace

std::span<const Opcode> control_opcodes() {
  return table;
}

}  // namespace weft::simulator
