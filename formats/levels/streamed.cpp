#include <fmt/format.h>
#include <weft/formats/check_layout.h>
#include <weft/formats/lane_streams.h>
#include <weft/formats/levels/kinds.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>

namespace weft::levels {
namespace {

/// Of 32 lanes, which take bits of two halves in turn or of each on its own.
constexpr std::int64_t halves = 2;

bool is_in_pairs(const Level& level) {
  return level.extent == columns_of_pairs;
}

std::uint32_t mask_below(std::int64_t bit) {
  return (std::uint32_t{1} << bit) - 1;
}

/// Words of a lane in a stream, of all its groups.
std::int64_t steps_of(const OpenLevel& open) {
  return open.codes->size() / (lanes_of_stream * (std::ssize(open.begin) - 1));
}

Children children(const OpenLevel& open, std::int64_t parent, std::int64_t across) {
  return {parent, across, 0, open.level->extent};
}

Child child(const OpenLevel& open, const Children& children, std::int64_t number) {
  const bool in_pairs = is_in_pairs(*open.level);
  const StreamPlace<std::int64_t> at = stream_place(children.across, number, in_pairs);
  const std::int64_t word = children.parent * lanes_of_stream + at.lane;
  const auto bits = static_cast<std::uint32_t>(open.codes->as<std::int32_t>()[word]);
  const std::int64_t bit = at.half * bits_of_half + at.bit;
  if ((bits >> bit & 1U) == 0) return {-1, number, number, true};
  const std::uint32_t before =
      in_pairs ? bits & mask_below(bit) : bits >> (at.half * bits_of_half) & mask_below(at.bit);
  const std::int64_t taken = in_pairs ? open.width[word] : open.width[word * halves + at.half];
  const std::int64_t row = open.begin[children.parent / steps_of(open)] + taken + std::popcount(before);
  const std::int64_t position = (row * lanes_of_stream + at.lane) * elements_of_lane + at.element;
  return {position, number, number, open.values->is_zero_bits(position)};
}

/// Every lane's count goes on from step to step, and ends within its stream.
std::int64_t check_arrays(const SparseTensor& tensor, const Level& level, std::int64_t parents) {
  const bool in_pairs = is_in_pairs(level);
  const std::int64_t counts = in_pairs ? 1 : halves;
  check_array(tensor, level.index, Content::offsets, parents * lanes_of_stream);
  check_array(tensor, level.width, Content::offsets, parents * lanes_of_stream * counts);
  check_array(tensor, level.begin, Content::offsets);
  const auto begin = tensor.array(level.begin).as<std::int32_t>();
  const std::int64_t streams = std::ssize(begin) - 1;
  if (streams < 0 || begin[0] != 0 || (streams == 0 ? parents != 0 : parents % streams != 0))
    refuse_damaged(tensor, "array " + level.begin, fmt::format("{} streams of {} steps", streams, parents),
                   "equal numbers of steps, from row 0 on");
  const auto words = tensor.array(level.index).as<std::int32_t>();
  const auto before = tensor.array(level.width).as<std::int32_t>();
  const std::int64_t steps = streams == 0 ? 0 : parents / streams;
  for (std::int64_t stream = 0; stream < streams; ++stream) {
    std::array<std::int64_t, lanes_of_stream * halves> taken{};
    for (std::int64_t step = stream * steps; step < (stream + 1) * steps; ++step) {
      for (std::int64_t i = 0; i < lanes_of_stream * counts; ++i) {
        const std::int64_t place = step * lanes_of_stream * counts + i;
        if (before[place] != taken[i])
          refuse_damaged(tensor, fmt::format("{}[{}]", level.width, place), std::to_string(before[place]),
                         fmt::format("{}, the bits before", taken[i]));
        const auto bits = static_cast<std::uint32_t>(words[step * lanes_of_stream + i / counts]);
        taken[i] += std::popcount(in_pairs ? bits : bits >> (i % counts * bits_of_half) & 0xffffU);
      }
      const auto [least, most] = std::ranges::minmax(std::span(taken).first(lanes_of_stream * counts));
      if (most - least > most_rows_ahead)
        refuse_damaged(tensor, fmt::format("{}, step {}", level.index, step),
                       fmt::format("a lane {} rows ahead of another", most - least),
                       fmt::format("at most {}", most_rows_ahead));
    }
    const std::int64_t most = std::ranges::max(taken);
    if (begin[stream + 1] - begin[stream] != most)
      refuse_damaged(tensor, fmt::format("{}[{}]", level.begin, stream + 1),
                     fmt::format("{} rows of stream {}", begin[stream + 1] - begin[stream], stream),
                     fmt::format("{}, the most bits of a lane", most));
  }
  return streams == 0 ? 0 : begin[streams] * lanes_of_stream * elements_of_lane;
}

void check_level(const SparseTensor& tensor, std::size_t number) {
  const auto& levels = tensor.levels();
  const Level& level = levels[number];
  const bool last = number + 1 == levels.size() && tensor.value_order().levels.empty();
  const auto is_dense = [&](std::int64_t of) {
    return of >= 0 && of < static_cast<std::int64_t>(number) && levels[of].kind == LevelKind::dense;
  };
  const auto steps = static_cast<std::int64_t>(number) - 1, groups = steps - 1;
  const bool across = is_dense(level.across) && levels[level.across].extent == rows_of_stream;
  const bool of_streams = is_dense(steps) && is_dense(groups) && levels[groups].across >= 0 && groups > 0;
  if (last && across && of_streams && (level.extent == columns_of_bits || level.extent == columns_of_pairs))
    return;
  refuse_damaged(tensor, fmt::format("level {}", number), "a streamed level",
                 "the last one, across a dense level of 32 rows, of 32 or 64 columns, below the steps of "
                 "groups");
}

}  // namespace

LevelKindRow streamed() {
  return {.kind = LevelKind::streamed,
          .name = "streamed",
          .children = children,
          .child = child,
          .check_arrays = check_arrays,
          .check_level = check_level,
          .listed = false};
}

}  // namespace weft::levels
