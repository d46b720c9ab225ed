#include <poll.h>
#include <weft/search/measure/trial_pool.h>

#include <algorithm>

namespace weft {
namespace {

constexpr int tick_milliseconds = 100;

/// The record of a trial whose worker gave no answer.
Record without_answer(const WorkerReply& reply, TrialStatus of_a_crash, double limit_seconds) {
  Record record;
  const bool late = reply.end == WorkerReply::End::timed_out;
  record.status = late ? TrialStatus::timeout : of_a_crash;
  record.message = late ? "no end within " + text_of_seconds(limit_seconds) : reply.text;
  if (!reply.said.empty()) record.message += ": " + reply.said;
  return record;
}

}  // namespace

TrialPool::TrialPool(Worker::Serve serve, const MeasureOptions& options, int jobs)
    : serve_(std::move(serve)), options_(options), slots_(static_cast<std::size_t>(std::max(1, jobs))) {}

Worker& TrialPool::worker_of(Slot& slot) {
  if (!slot.worker || !slot.worker->alive())
    slot.worker = std::make_unique<Worker>(serve_, options_.memory_bytes);
  return *slot.worker;
}

WorkerReply TrialPool::ask(const std::string& request, double limit_seconds) {
  return worker_of(slots_.front()).ask(request, limit_seconds);
}

bool TrialPool::any(State state) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.state == state; });
}

void TrialPool::run(const TrialHooks& hooks) {
  for (;;) {
    const bool stopping = hooks.stop();
    if (stopping)
      drop_all_but_the_oldest();
    else
      begin_builds(hooks);
    begin_measuring(hooks);
    if (!any(State::building) && !any(State::measuring)) return;
    wait_for_replies();
    for (Slot& slot : slots_) take_reply(slot, hooks);
    hooks.tick();
  }
}

void TrialPool::begin_builds(const TrialHooks& hooks) {
  for (Slot& slot : slots_) {
    if (slot.state != State::idle) continue;
    const auto point = hooks.next();
    if (!point) return;
    slot.point = *point;
    slot.number = begun_++;
    slot.state = State::building;
    worker_of(slot).send(build_request(slot.point), options_.build_seconds);
  }
}

void TrialPool::begin_measuring(const TrialHooks& hooks) {
  const bool alone = options_.measure == Measure::cpu;
  if (any(State::measuring) || (alone && any(State::building))) return;
  Slot* oldest = nullptr;
  for (Slot& slot : slots_) {
    if (slot.state == State::built && (oldest == nullptr || slot.number < oldest->number)) oldest = &slot;
  }
  if (oldest == nullptr) return;
  oldest->state = State::measuring;
  oldest->worker->send(measure_request(hooks.best()), options_.run_seconds);
}

void TrialPool::drop_all_but_the_oldest() {
  const Slot* oldest = nullptr;
  for (const Slot& slot : slots_) {
    if (slot.state == State::idle) continue;
    // One that is on the device is nearer to its end than any that is built.
    const bool nearer = oldest == nullptr || slot.state == State::measuring ||
                        (oldest->state != State::measuring && slot.number < oldest->number);
    if (nearer) oldest = &slot;
  }
  for (Slot& slot : slots_) {
    if (slot.state == State::idle || &slot == oldest) continue;
    slot.worker.reset();
    slot.state = State::idle;
  }
}

void TrialPool::wait_for_replies() {
  std::vector<pollfd> ends;
  double shortest = tick_milliseconds;
  for (const Slot& slot : slots_) {
    if (slot.state != State::building && slot.state != State::measuring) continue;
    ends.push_back({slot.worker->descriptor(), POLLIN, 0});
    shortest = std::min(shortest, slot.worker->seconds_left() * 1000 + 1);
  }
  poll(ends.data(), ends.size(), static_cast<int>(shortest));
}

void TrialPool::take_reply(Slot& slot, const TrialHooks& hooks) {
  if (slot.state != State::building && slot.state != State::measuring) return;
  const auto reply = slot.worker->take();
  if (!reply) return;
  slot.state == State::building ? take_built(slot, *reply, hooks) : take_measured(slot, *reply, hooks);
}

void TrialPool::take_built(Slot& slot, const WorkerReply& reply, const TrialHooks& hooks) {
  const bool answered = reply.end == WorkerReply::End::answered;
  slot.built =
      answered ? record_of(reply.text) : without_answer(reply, TrialStatus::compile, options_.build_seconds);
  const bool finished = slot.built.status != TrialStatus::correct || slot.built.microseconds;
  slot.state = finished ? State::idle : State::built;
  if (finished) hooks.done(slot.point, slot.built);
}

void TrialPool::take_measured(Slot& slot, const WorkerReply& reply, const TrialHooks& hooks) {
  const bool answered = reply.end == WorkerReply::End::answered;
  Record record =
      answered ? record_of(reply.text) : without_answer(reply, TrialStatus::runtime, options_.run_seconds);
  record.kernel_hash = slot.built.kernel_hash;
  record.compile_milliseconds = slot.built.compile_milliseconds;
  record.registers = slot.built.registers;
  record.shared_bytes = slot.built.shared_bytes;
  record.spill_bytes = slot.built.spill_bytes;
  // A kernel that failed may have spoilt the context, or other operands on the device.
  if (record.status != TrialStatus::correct) slot.worker.reset();
  slot.state = State::idle;
  hooks.done(slot.point, record);
}

}  // namespace weft
