// A warp's way to memory, and what is checked there.
#include <fmt/format.h>
#include <weft/backends/simulator/machine/machine.h>
#include <weft/backends/simulator/machine/warp.h>

#include <algorithm>

namespace weft::simulator {

Finding Warp::finding(const Operation& operation, std::string_view kind, std::string text, int lane) const {
  Finding made;
  made.kind = kind;
  made.text = std::move(text);
  made.block = block_->index;
  made.warp = index_;
  made.lane = lane;
  const ptx::Instruction& instruction = *code_->instructions[operation.instruction];
  made.line = instruction.line;
  made.instruction = instruction.text();
  return made;
}

void Warp::report(const Operation& operation, std::string_view kind, const std::string& text, int lane) {
  machine_->add_finding(finding(operation, kind, text, lane));
}

Finding Warp::finding_of_access(const Operation& operation, std::string_view kind, std::string text,
                                const Region* region, std::uint64_t address, int lane) const {
  Finding made = finding(operation, kind, std::move(text), lane);
  made.address = address;
  if (region != nullptr) {
    const bool is_before = address < region->address;
    std::uint64_t offset = is_before ? region->address - address : address - region->address;
    made.buffer = region->name;
    if (region->address == window::shared) {
      offset = address % window::shared_bytes;
      for (const Code::SharedVariable& variable : code_->shared_variables) {
        if (offset < variable.offset || (variable.bytes != 0 && offset >= variable.offset + variable.bytes))
          continue;
        made.buffer = variable.name;
        offset -= variable.offset;
        break;
      }
    }
    made.place = fmt::format("{} {} {} bytes", made.buffer, is_before ? "-" : "+", offset);
  }
  return made;
}

void Warp::report_access(const Operation& operation, std::string_view kind, std::string text,
                         const Region* region, std::uint64_t address, int lane) {
  machine_->add_finding(finding_of_access(operation, kind, std::move(text), region, address, lane));
}

namespace {

std::string name_of_agent(Epoch epoch, const Block& block) {
  static constexpr std::array<std::string_view, agents_of_warp> kinds{"", "'s cp.async copy", "'s bulk copy",
                                                                      "'s wgmma"};
  const std::string where = epoch.block() == block.serial ? std::string() : " of another block";
  return fmt::format("warp {}{}{}", epoch.agent() / agents_of_warp, kinds[epoch.agent() % agents_of_warp],
                     where);
}

bool is_lanes_or_copies(Epoch epoch) {
  const unsigned kind = epoch.agent() % agents_of_warp;
  return kind <= static_cast<unsigned>(AgentKind::copies);
}

}  // namespace

void Warp::check_race(const Operation& operation, Region& region, std::size_t offset, std::size_t bytes,
                      Access access, Epoch epoch, const View& view, bool is_asynchronous, int lane) {
  const std::size_t granule = region.shadow.granule();
  const std::size_t last = (offset + bytes - 1) / granule * granule;
  const Knowledge& proxied = region.address >= window::global ? view.proxied_global : view.proxied;
  const std::size_t reader_limit = region.address >= window::global ? 4 : 1024;
  for (std::size_t at = offset / granule * granule; at <= last;) {
    std::size_t run = 0;
    Cell* cell = region.shadow.cells(at, run);
    for (; run > 0 && at <= last; --run, ++cell, at += granule) {
      const Epoch write = cell->write;
      if (!write.is_none() && write != epoch && !(write.strong() && epoch.strong())) {
        if (!view.seen.covers(write)) {
          report_access(
              operation, "race",
              fmt::format("{} what {} writes, and nothing orders the two",
                          access == Access::read ? "reads" : "writes", name_of_agent(write, *block_)),
              &region, region.address + at, lane);
        } else if (is_asynchronous && is_lanes_or_copies(write) && !proxied.covers(write)) {
          report_access(
              operation, "missing proxy fence",
              fmt::format("asynchronous work reads what {} wrote without fence.proxy.async between them",
                          name_of_agent(write, *block_)),
              &region, region.address + at, lane);
        }
      }
      if (access == Access::read) {
        if (cell->read == epoch.bits()) continue;
        const bool is_single = (cell->read & ReaderSets::set_bit) == 0;
        if (cell->read == 0 || (is_single && view.seen.covers(Epoch::of_bits(cell->read))))
          cell->read = epoch.bits();
        else
          cell->read = machine_->readers().with(cell->read, epoch, view.seen, reader_limit);
        continue;
      }
      if (cell->read != 0) {
        const auto check_reader = [&](Epoch reader) {
          if (reader == epoch || (reader.strong() && epoch.strong()) || view.seen.covers(reader)) return;
          report_access(
              operation, "race",
              fmt::format("writes what {} reads, and nothing orders the two", name_of_agent(reader, *block_)),
              &region, region.address + at, lane);
        };
        if ((cell->read & ReaderSets::set_bit) == 0) {
          check_reader(Epoch::of_bits(cell->read));
        } else if (const auto* readers = machine_->readers().find(cell->read); readers != nullptr) {
          std::ranges::for_each(*readers, check_reader);
        }
        cell->read = 0;
      }
      cell->write = epoch;
    }
  }
}

template <class On>
void Warp::each_used_part(const Operation& operation, std::size_t bytes, const On& on) const {
  const std::uint32_t used = code_->instructions[static_cast<std::size_t>(operation.instruction)]->used_bytes;
  if (used == ptx::all_bytes || bytes > 32) return on(0, bytes);
  for (std::size_t first = 0, end = 0; first < bytes; first = end + 1) {
    for (end = first; end < bytes && (used >> end & 1U) != 0;) ++end;
    if (end > first) on(first, end - first);
  }
}

Pointers Warp::reach(const Operation& operation, ptx::Space space, const std::uint64_t* addresses, Mask mask,
                     std::uint32_t bytes, Access access) {
  Pointers pointers{};
  const bool is_strong = access == Access::atomic || (operation.flags & strong_access) != 0;
  const bool checks = machine_->checks();
  if (std::exchange(snapshot_is_out_, false)) tick();
  const Epoch now = epoch(is_strong);
  Region* region = nullptr;
  std::size_t offset = 0;
  std::uint64_t last_read = ~std::uint64_t{0};
  std::byte* last_pointer = nullptr;
  for (const std::size_t lane : lanes_of(mask)) {
    const std::uint64_t address = addresses[lane];
    if (address == last_read) {
      pointers[lane] = last_pointer;
      continue;
    }
    if (region != nullptr && region->is_checked && address - region->address <= region->bytes &&
        bytes <= region->bytes - (address - region->address)) {
      offset = address - region->address;  // as the lane before
    } else {
      const Machine::Located located = machine_->locate(*this, space, address, static_cast<int>(lane));
      region = located.region;
      offset = located.offset;
      if (region == nullptr || offset > region->bytes || bytes > region->bytes - offset) {
        const bool is_of_cluster = address >= window::cluster && address < window::cluster_end;
        const std::string_view absence =
            is_of_cluster ? "the cluster has no block or one that has ended" : "no buffer is";
        report_access(operation, "out of bounds",
                      region == nullptr ? fmt::format("{} bytes at {:#x}, where {}", bytes, address, absence)
                                        : fmt::format("{} bytes at {:#x}; {} has {} bytes", bytes, address,
                                                      region->name, region->bytes),
                      region, address, static_cast<int>(lane));
        region = nullptr;
        continue;
      }
    }
    if ((address & (bytes - 1)) != 0) {
      report_access(operation, "misaligned", fmt::format("{} bytes at {:#x}", bytes, address), region,
                    address, static_cast<int>(lane));
      continue;
    }
    if (access != Access::read && region->is_read_only) {
      report_access(operation, "out of bounds", "writes constant memory", region, address,
                    static_cast<int>(lane));
      continue;
    }
    pointers[lane] = region->data.get() + offset;
    if (access == Access::read && region->is_checked) {
      last_read = address;
      last_pointer = pointers[lane];
    }
    if (!checks) continue;
    if (access == Access::write) {
      region->mark_written(offset, bytes);
    } else if (region->first_unwritten(offset, bytes) != bytes) {
      if (access == Access::read &&
          note_unwritten_load(operation, space, *region, offset, address, bytes, lane)) {
        last_read = ~std::uint64_t{0};  // the next lane's bytes are undefined too
      } else {
        report_access(operation, "unwritten memory", fmt::format("{} bytes that nobody wrote", bytes), region,
                      address, static_cast<int>(lane));
        region->mark_written(offset, bytes);
      }
    }
    if (region->is_checked && !region->is_read_only)
      each_used_part(operation, bytes, [&](std::size_t first, std::size_t count) {
        check_race(operation, *region, offset + first, count, access, now, view_, false,
                   static_cast<int>(lane));
      });
  }
  count(operation, space, addresses, mask, bytes);
  return pointers;
}

std::byte* Warp::reach_asynchronous(const Operation& operation, Queue queue, ptx::Space space,
                                    std::uint64_t address, std::uint32_t bytes, Access access) {
  const Machine::Located located = machine_->locate(*this, space, address, 0);
  Region* region = located.region;
  if (region == nullptr || located.offset > region->bytes || bytes > region->bytes - located.offset) {
    report_access(operation, "out of bounds",
                  fmt::format("asynchronous work at {:#x}, {} bytes", address, bytes), region, address, -1);
    return nullptr;
  }
  if (!machine_->checks()) return region->data.get() + located.offset;
  if (access == Access::write) {
    region->mark_written(located.offset, bytes);
  } else if (region->first_unwritten(located.offset, bytes) != bytes) {
    report_access(operation, "unwritten memory",
                  fmt::format("asynchronous work reads {} bytes, some of which nobody wrote", bytes), region,
                  address, -1);
    region->mark_written(located.offset, bytes);
  }
  const auto kind = static_cast<AgentKind>(static_cast<unsigned>(queue) + 1);
  const std::uint32_t clock =
      working_view_ != nullptr ? working_clock_ : clocks_[static_cast<std::size_t>(kind)];
  const View& view = working_view_ != nullptr ? *working_view_ : view_;
  // Copies of one group, and wgmmas of one warp, do not race with each other.
  if (!region->is_read_only)
    check_race(operation, *region, located.offset, bytes, access, epoch(kind, clock), view,
               queue != Queue::copies, -1);
  return region->data.get() + located.offset;
}

namespace {

/// Whether no two lanes want different words of one bank.
bool has_no_conflict(const std::uint64_t* addresses, Mask mask, int count, std::uint32_t words) {
  std::array<std::uint64_t, 32> word_of_bank;
  std::uint32_t used = 0;
  for (int lane = 0; lane < count; ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    for (std::uint32_t word = 0; word < words; ++word) {
      const std::uint64_t index = addresses[lane] / 4 + word;
      const std::size_t bank = index % 32;
      if ((used >> bank & 1) == 0) {
        used |= 1U << bank;
        word_of_bank[bank] = index;
      } else if (word_of_bank[bank] != index) {
        return false;
      }
    }
  }
  return true;
}

/// Passes of shared memory: 32 banks of 4 bytes; different words of one bank come one after the other.
/// Accesses of 8 and 16 bytes go in halves and quarters of a warp.
std::uint32_t shared_passes(const std::uint64_t* addresses, Mask mask, std::uint32_t bytes) {
  const std::uint32_t words = std::max(1U, bytes / 4);
  const int lanes_at_once = static_cast<int>(32 / std::min(words, 4U));
  std::uint32_t passes = 0;
  for (int start = 0; start < lanes; start += lanes_at_once) {
    if (has_no_conflict(addresses + start, mask >> start, lanes_at_once, words)) {
      passes += (mask >> start & (all_lanes >> (lanes - lanes_at_once))) != 0 ? 1 : 0;
      continue;
    }
    std::array<std::array<std::uint64_t, 8>, 32> seen;
    std::array<std::uint8_t, 32> count{};
    std::uint32_t most = 0;
    for (int lane = start; lane < start + lanes_at_once; ++lane) {
      if ((mask >> lane & 1) == 0) continue;
      for (std::uint32_t word = 0; word < words; ++word) {
        const std::uint64_t index = addresses[lane] / 4 + word;
        const std::size_t bank = index % 32;
        const std::size_t known = count[bank];
        bool is_new = true;
        for (std::size_t i = 0; i < std::min<std::size_t>(known, 8); ++i)
          is_new = is_new && seen[bank][i] != index;
        if (!is_new) continue;
        if (known < 8) seen[bank][known] = index;
        ++count[bank];
        most = std::max<std::uint32_t>(most, count[bank]);
      }
    }
    passes += most;
  }
  return passes;
}

std::uint32_t sectors_of(const std::uint64_t* addresses, Mask mask, std::uint32_t bytes,
                         std::array<std::uint64_t, 64>& seen) {
  constexpr std::uint64_t sector_bytes = 32;
  std::uint32_t count = 0;
  std::uint64_t previous = ~std::uint64_t{0};
  for (Mask rest = mask; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    for (std::uint64_t at = addresses[lane] / sector_bytes;
         at <= (addresses[lane] + bytes - 1) / sector_bytes; ++at) {
      if (at == previous) continue;
      previous = at;
      const auto end = seen.begin() + count;
      if (std::find(seen.begin(), end, at) == end && count < seen.size()) seen[count++] = at;
    }
  }
  return count;
}

}  // namespace

void Warp::count(const Operation& operation, ptx::Space space, const std::uint64_t* addresses, Mask mask,
                 std::uint32_t bytes) {
  if (mask == 0) return;
  const ptx::Space where = space == ptx::Space::none ? space_of(addresses[std::countr_zero(mask)]) : space;
  if (where != ptx::Space::shared && where != ptx::Space::global) return;
  InstructionCounts& counts = machine_->counts(operation);
  ++counts.executions;
  const auto needed = static_cast<std::uint32_t>(std::popcount(mask)) * bytes;
  if (where == ptx::Space::shared) {
    const std::uint32_t passes = shared_passes(addresses, mask, bytes);
    counts.shared_passes += passes;
    counts.least_passes += std::min(passes, (needed + 127) / 128);
    last_passes_ = passes;
  } else {
    const std::uint32_t sectors = sectors_of(addresses, mask, bytes, sectors_);
    counts.sectors += sectors;
    counts.least_sectors += std::min(sectors, (needed + 31) / 32);
    last_sectors_ = sectors;
  }
}

}  // namespace weft::simulator
