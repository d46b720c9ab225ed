#include <weft/backends/simulator/machine/races.h>

#include <algorithm>
#include <bit>

namespace weft::simulator {

void Knowledge::learn(Epoch epoch) {
  const std::uint64_t block = epoch.block() - first_block_;
  std::uint32_t& clock = clocks_[block * agents_of_block + epoch.agent()];
  clock = std::max(clock, epoch.clock());
}

namespace {

void join_clocks(Knowledge::Clocks& mine, const Knowledge::Clocks& others) {
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = std::max(mine[i], others[i]);
}

}  // namespace

void Knowledge::join(const Knowledge& other) {
  if (other.clocks_.empty()) return;
  if (clocks_.empty()) {
    *this = other;
    return;
  }
  const auto hear = [this](std::uint64_t first_block, const std::shared_ptr<const Clocks>& clocks) {
    if (first_block == first_block_) {
      join_clocks(clocks_, *clocks);
      return;
    }
    const auto known = std::ranges::find(others_, first_block, [](const auto& entry) { return entry.first; });
    if (known == others_.end()) {
      others_.emplace_back(first_block, clocks);
    } else if (known->second != clocks) {
      auto joined = std::make_shared<Clocks>(*known->second);
      join_clocks(*joined, *clocks);
      known->second = std::move(joined);
    }
  };
  if (other.first_block_ == first_block_)
    join_clocks(clocks_, other.clocks_);
  else
    hear(other.first_block_, std::make_shared<const Clocks>(other.clocks_));
  for (const auto& [first_block, clocks] : other.others_) hear(first_block, clocks);
}

bool Knowledge::covers_other(Epoch epoch) const {
  for (const auto& [first_block, clocks] : others_) {
    const std::uint64_t block = epoch.block() - first_block;
    if (block * agents_of_block < clocks->size())
      return (*clocks)[block * agents_of_block + epoch.agent()] >= epoch.clock();
  }
  return false;
}

Shadow::Shadow(std::size_t bytes, std::size_t granule)
    : shift_(static_cast<unsigned>(std::countr_zero(granule))), pages_((bytes >> shift_) / page_cells + 1) {}

std::uint64_t ReaderSets::successor(std::uint64_t read, Epoch epoch, const Knowledge& knowledge,
                                    std::size_t limit) {
  if (epoch != successor_epoch_) {
    successors_.clear();
    successor_epoch_ = epoch;
  }
  if (const auto known = successors_.find(read); known != successors_.end()) return known->second;
  std::vector<Epoch> readers;
  const auto keep = [&](Epoch other) {
    const bool same_agent = other.block() == epoch.block() && other.agent() == epoch.agent();
    if (!same_agent && !knowledge.covers(other) && readers.size() < limit) readers.push_back(other);
  };
  if ((read & set_bit) == 0) {
    keep(Epoch::of_bits(read));
  } else if (const std::vector<Epoch>* old = find(read); old != nullptr) {
    if (std::ranges::find(*old, epoch) != old->end()) {
      successors_.emplace(read, read);
      return read;
    }
    for (const Epoch other : *old) keep(other);
  }
  std::uint64_t state = epoch.bits();
  if (readers.size() >= limit) {
    state = read;  // full: the earlier ones stay
  } else if (!readers.empty()) {
    readers.push_back(epoch);
    state = set_bit | next();
    sets_.push_back(std::move(readers));
  }
  successors_.emplace(read, state);
  return state;
}

}  // namespace weft::simulator
