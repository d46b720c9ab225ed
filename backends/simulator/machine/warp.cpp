// A warp's lanes, knowledge and asynchronous work.
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>
#include <weft/dsl/errors.h>

#include <algorithm>

namespace weft::simulator {

Warp::Warp(Machine& machine, Block& block, int index, Mask threads)
    : index_(index), block_(&block), machine_(&machine), code_(&machine.code()), exited_(~threads) {
  // One row more than used: a handler may write the wide result of a narrow register.
  registers_ = std::make_unique<std::uint32_t[]>((std::size_t{code_->rows} + 4) * lanes);
  constants_ = const_cast<std::uint32_t*>(code_->constants.data());
  written_.assign(code_->rows + 4, 0);
  in_flight_.assign(code_->rows + 4, 0);
  path_ = {threads, 0, -1};
  view_ = View(block.cluster->first_serial, block.cluster->size);
  clocks_.fill(1);
  view_.seen.learn(epoch());
  local_.resize(lanes);
}

Warp::~Warp() = default;

std::array<std::uint64_t, lanes> Warp::addresses(const Operation& operation, std::size_t which) const {
  std::array<std::uint64_t, lanes> result;
  const auto offset = static_cast<std::uint64_t>(code_->operand_offsets[operation.first + which]);
  if (code_->operand_bytes[operation.first + which] == 8) {
    const std::uint64_t* base = source<std::uint64_t>(operation, which);
    for (int lane = 0; lane < lanes; ++lane) result[lane] = base[lane] + offset;
  } else {
    const std::uint32_t* base = source<std::uint32_t>(operation, which);
    const auto narrow = static_cast<std::uint32_t>(offset);
    for (int lane = 0; lane < lanes; ++lane) result[lane] = base[lane] + narrow;
  }
  return result;
}

// Paths. A divergent branch leaves two paths on top of the one that goes on where they meet.

void Warp::diverge(const Operation& operation, std::int32_t target, Mask taken) {
  const std::array<Branch, 1> branch{{{target, taken}}};
  diverge(operation, branch);
}

void Warp::diverge(const Operation& operation, std::span<const Branch> branches) {
  std::vector<Branch> ways(branches.begin(), branches.end());
  Mask stays = path_.mask;
  for (const Branch& way : ways) stays &= ~way.lanes;
  if (stays != 0) ways.push_back({path_.next, stays});
  if (ways.size() == 1) {
    path_.next = ways.front().target;
    return;
  }
  const auto end = static_cast<std::int32_t>(code_->operations.size());
  const std::int32_t meets = operation.reconvergence < 0 ? end : operation.reconvergence;
  std::shuffle(ways.begin(), ways.end(), machine_->random());
  others_.push_back({path_.mask, meets, path_.meets});
  for (const Branch& way : ways) others_.push_back({way.lanes, way.target, meets});
  path_ = others_.back();
  others_.pop_back();
}

void Warp::give_vote(bool outcome, std::uint32_t count) {
  const Mask active = std::exchange(active_, vote_lanes_);
  if (vote_->type == ptx::Type::pred) {
    set_mask(*vote_, 0, outcome ? all_lanes : 0);
  } else {
    assign<std::uint32_t>(*vote_, [count] { return count; });
  }
  active_ = active;
}

void Warp::leave(Mask gone) {
  exited_ |= gone;
  path_.mask &= ~gone;
}

void Warp::tick() {
  if (clocks_[0] == Epoch::last_clock) throw RuntimeError("a simulated warp synchronised too often");
  ++clocks_[0];
  view_.seen.learn(epoch());
  view_changed();
}

std::shared_ptr<const View> Warp::snapshot() {
  if (snapshot_ == nullptr) snapshot_ = std::make_shared<const View>(view_);
  snapshot_is_out_ = true;
  return snapshot_;
}

Epoch Warp::epoch(AgentKind kind, std::uint32_t clock, bool strong) const {
  return {block_->serial, static_cast<unsigned>(index_) * agents_of_warp + static_cast<unsigned>(kind), clock,
          strong};
}

Region* Warp::local(int lane) {
  std::unique_ptr<Region>& own = local_[lane];
  if (own == nullptr) {
    own = std::make_unique<Region>("local memory", window::local, code_->local_bytes, 4);
    own->is_checked = false;
  }
  return own.get();
}

// Work that goes on by itself.

namespace {

AgentKind agent_of(Queue queue) {
  return static_cast<AgentKind>(static_cast<unsigned>(queue) + 1);
}

}  // namespace

void Warp::start(Queue queue, Work work) {
  for (const Row row_index : work.registers) {
    written_[row_index] = 0;
    ++in_flight_[row_index];
    ++rows_in_flight_;
  }
  lent_registers_ = lent_registers_ || !work.registers.empty();
  Group& group = open_[static_cast<std::size_t>(queue)];
  group.views.push_back(snapshot());
  group.work.push_back(std::move(work));
}

void Warp::commit(Queue queue) {
  Group& group = open_[static_cast<std::size_t>(queue)];
  group.clock = clocks_[static_cast<std::size_t>(agent_of(queue))];
  next_clock(agent_of(queue));
  queues_[static_cast<std::size_t>(queue)].push_back(std::move(group));
  group = Group();
}

void Warp::wait(Queue queue, int groups_left) {
  auto& groups = queues_[static_cast<std::size_t>(queue)];
  while (groups.size() > static_cast<std::size_t>(groups_left)) {
    perform(queue, groups.front());
    view_.seen.learn(epoch(agent_of(queue), groups.front().clock));
    groups.pop_front();
    view_changed();
  }
}

void Warp::perform(Queue queue, Group& group) {
  for (std::size_t i = 0; i < group.work.size(); ++i) {
    run_work(group.work[i], agent_of(queue), group.clock, group.views[i]);
    for (const Row row_index : group.work[i].registers) {
      --rows_in_flight_;
      if (--in_flight_[row_index] == 0) written_[row_index] = all_lanes;
    }
  }
  group.work.clear();
}

bool Warp::perform_early() {
  for (const Queue queue : {Queue::copies, Queue::bulk, Queue::matrix}) {
    for (Group& group : queues_[static_cast<std::size_t>(queue)]) {
      if (group.work.empty()) continue;
      perform(queue, group);
      return true;
    }
  }
  return false;
}

void Warp::finish_work() {
  // Copies by cp.async end by themselves; what reads shared memory must have read it before the block ends.
  const auto check = [this](const Group& group) {
    for (const Work& work : group.work)
      report(*work.operation, "not waited for", "still under way when its warp ended");
  };
  for (const Queue queue : {Queue::bulk, Queue::matrix}) {
    std::ranges::for_each(queues_[static_cast<std::size_t>(queue)], check);
    check(open_[static_cast<std::size_t>(queue)]);
  }
  for (const Queue queue : {Queue::copies, Queue::bulk, Queue::matrix}) {
    for (Group& group : queues_[static_cast<std::size_t>(queue)]) perform(queue, group);
    Group& open = open_[static_cast<std::size_t>(queue)];
    open.clock = clocks_[static_cast<std::size_t>(agent_of(queue))];
    perform(queue, open);
  }
}

void Warp::run_work(const Work& work, AgentKind kind, std::uint32_t clock, std::shared_ptr<const View> view) {
  working_as_ = kind;
  working_clock_ = clock;
  working_view_ = std::move(view);
  const Mask active = active_;
  active_ = all_lanes;
  work.perform(*this);
  active_ = active;
  working_as_ = AgentKind::lanes;
  working_view_.reset();
}

std::uint32_t Warp::flush_copies() {
  const std::uint32_t clock = clocks_[static_cast<std::size_t>(AgentKind::copies)];
  commit(Queue::copies);
  return clock;
}

void Warp::run_pending(PendingWork& pending) {
  const std::uint32_t clock = pending.clock;
  if (pending.work.perform) run_work(pending.work, AgentKind::bulk, clock, pending.view);
  if (pending.completed) pending.completed(*this, epoch(AgentKind::bulk, clock));
}

void Warp::perform_copies(std::uint32_t last_clock) {
  for (Group& group : queues_[static_cast<std::size_t>(Queue::copies)]) {
    if (group.clock <= last_clock) perform(Queue::copies, group);
  }
}

}  // namespace weft::simulator
