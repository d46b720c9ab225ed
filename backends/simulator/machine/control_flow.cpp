#include <weft/backends/simulator/machine/control_flow.h>

#include <algorithm>

namespace weft::simulator {

Flow flow_of(const Operation& operation) {
  if (operation.execute == run_branch) return Flow::branch;
  if (operation.execute == run_branch_table) return Flow::table;
  return operation.execute == run_exit ? Flow::leave : Flow::next;
}

namespace {

/// The graph of basic blocks, with one more node, the end, that every leaving block goes to.
struct Blocks {
  std::vector<std::int32_t> first;  ///< operation of each block
  std::vector<std::int32_t> block_of;
  std::vector<std::vector<std::int32_t>> successors, predecessors;
  std::int32_t end = 0;

  explicit Blocks(const Code& code) {
    const auto count = static_cast<std::int32_t>(code.operations.size());
    std::vector<bool> leads(static_cast<std::size_t>(count) + 1, false);
    leads[0] = true;
    for_each_edge(code, [&](std::int32_t from, std::int32_t to) {
      leads[to] = true;
      leads[static_cast<std::size_t>(from) + 1] = true;
    });
    block_of.resize(static_cast<std::size_t>(count) + 1);
    for (std::int32_t i = 0; i < count; ++i) {
      if (leads[i]) first.push_back(i);
      block_of[i] = static_cast<std::int32_t>(first.size()) - 1;
    }
    end = static_cast<std::int32_t>(first.size());
    block_of[count] = end;
    successors.resize(first.size() + 1);
    predecessors.resize(first.size() + 1);
    connect(code, count);
  }

 private:
  template <class F>
  static void for_each_edge(const Code& code, F edge) {
    const auto count = static_cast<std::int32_t>(code.operations.size());
    for (std::int32_t i = 0; i < count; ++i) {
      const Operation& operation = code.operations[i];
      switch (flow_of(operation)) {
        case Flow::next: continue;
        case Flow::branch: edge(i, static_cast<std::int32_t>(operation.immediate)); break;
        case Flow::table:
          for (const std::int32_t to : code.branch_tables[operation.variant]) edge(i, to);
          break;
        case Flow::leave: edge(i, count); break;
      }
      if (operation.guard != no_row) edge(i, i + 1);
    }
  }

  void connect(const Code& code, std::int32_t count) {
    const auto link = [this](std::int32_t from, std::int32_t to) {
      successors[from].push_back(to);
      predecessors[to].push_back(from);
    };
    for_each_edge(code, [&](std::int32_t from, std::int32_t to) { link(block_of[from], block_of[to]); });
    for (std::int32_t block = 0; block < end; ++block) {
      const std::int32_t next = block + 1 < end ? first[static_cast<std::size_t>(block) + 1] : count;
      if (flow_of(code.operations[static_cast<std::size_t>(next) - 1]) == Flow::next)
        link(block, block_of[next]);
    }
  }
};

/// Blocks in an order in which each stands after those that it leads to, as far as loops allow; from the end.
std::vector<std::int32_t> backward_order(const Blocks& blocks) {
  std::vector<std::int32_t> order;
  std::vector<std::size_t> next(blocks.predecessors.size(), 0);
  std::vector<bool> seen(blocks.predecessors.size(), false);
  std::vector<std::int32_t> stack{blocks.end};
  seen[blocks.end] = true;
  while (!stack.empty()) {
    const auto block = static_cast<std::size_t>(stack.back());
    if (next[block] == blocks.predecessors[block].size()) {
      order.push_back(stack.back());
      stack.pop_back();
      continue;
    }
    const std::int32_t before = blocks.predecessors[block][next[block]++];
    if (seen[before]) continue;
    seen[before] = true;
    stack.push_back(before);
  }
  std::ranges::reverse(order);
  return order;
}

/// Immediate post-dominator of each block; -1 for blocks that never reach the end.
std::vector<std::int32_t> post_dominators(const Blocks& blocks) {
  const std::vector<std::int32_t> order = backward_order(blocks);
  std::vector<std::int32_t> position(blocks.successors.size(), -1);
  for (std::size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<std::int32_t>(i);
  std::vector<std::int32_t> dominator(blocks.successors.size(), -1);
  dominator[blocks.end] = blocks.end;
  const auto meet = [&](std::int32_t a, std::int32_t b) {
    while (a != b) {
      while (position[a] > position[b]) a = dominator[a];
      while (position[b] > position[a]) b = dominator[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (const std::int32_t block : order) {
      if (block == blocks.end) continue;
      std::int32_t found = -1;
      for (const std::int32_t next : blocks.successors[block]) {
        if (dominator[next] < 0) continue;
        found = found < 0 ? next : meet(found, next);
      }
      if (found != dominator[block]) {
        dominator[block] = found;
        changed = true;
      }
    }
  }
  return dominator;
}

}  // namespace

void find_reconvergence(Code& code) {
  if (code.operations.empty()) return;
  const Blocks blocks(code);
  const std::vector<std::int32_t> dominator = post_dominators(blocks);
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    Operation& operation = code.operations[i];
    const Flow flow = flow_of(operation);
    if (flow != Flow::branch && flow != Flow::table) continue;
    const std::int32_t meets = dominator[blocks.block_of[i]];
    operation.reconvergence = meets < 0 || meets == blocks.end ? -1 : blocks.first[meets];
  }
}

}  // namespace weft::simulator
