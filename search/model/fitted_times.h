// How long every configuration takes, each as a sum of few parts fitted to its measured times: the choice is
// the one that takes least.
#pragma once

#include <weft/search/model/timing_table.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

/// Blocks of a kernel that a multiprocessor holds at the same time, as far as whole waves are counted for
/// them.
inline constexpr std::array<int, 7> resident_blocks{1, 2, 3, 4, 5, 6, 8};
inline constexpr std::size_t time_part_count = 6 + 2 * resident_blocks.size();
/// A number for each part, in the order of part_names().
using TimeParts = std::array<double, time_part_count>;

/// What a kernel takes time for. With steps the tiles of kept columns that a block goes through, blocks those
/// of the launch, and share the blocks of a multiprocessor:
/// - `once`: the launch, and filling and draining the stages, take the same for every size;
/// - `steps`: a block goes through its tiles one after the other, however few blocks there are;
/// - `share * steps`: what a multiprocessor has once for its blocks, such as tensor cores, it gives in turn;
/// - `share`: a block is started and its results are stored, whatever it multiplied;
/// - `K * N` and `M * N`: the dense operand and the results go through memory;
/// - `waves of q * steps` and `waves of q`: blocks that go together wait for the last of them, and the next
///   begin a whole wave later, if q of them are held at the same time. The fit finds which q that is, so that
///   neither registers nor shared memory have to be known.
std::span<const std::string_view> part_names();

/// What the parts of a configuration follow from, by its knobs; one that it lacks, or that is 0, counts as 1.
struct TileShape {
  double m = 1, n = 1, k = 1;
  double groups = 1;  ///< blocks that share a sum
};
TileShape tile_shape(const Configuration& configuration);
TimeParts time_parts(const TileShape& shape, const FeatureValues& values);
/// A part as an expression of C over m, n, k, steps and blocks, with a function that divides and rounds up,
/// for problems with these features; empty for `once`.
std::string expression_of_part(std::size_t part, const FeatureValues& values, const std::string& up);

/// Numbers that are not negative, whose sum with the parts is near to 1 for every row, by least squares: rows
/// are the parts of a measured kernel over its time. Of parts that say the same the first has all. Lawson and
/// Hanson, "Solving Least Squares Problems", 1974, chapter 23.
TimeParts fitted_parts(const std::vector<TimeParts>& rows);

class FittedTimes {
 public:
  /// Problems that differ in nothing but sizes and how full they are, so that one fit serves them: those with
  /// the same value in every feature that Feature::is_kind says.
  struct Kind {
    std::size_t problems = 0;  ///< learnt from
    FeatureValues least{}, most{};

    bool is_of(const FeatureValues& values) const;
    /// Whether every feature is within what was learnt from.
    bool covers(const FeatureValues& values) const;
  };
  /// A configuration, by its number, for problems of a kind.
  struct Fit {
    std::size_t kind = 0;
    int number = 0;
    TileShape shape;
    /// Microseconds of each part, to four digits: nothing cancels where no part is negative.
    TimeParts microseconds{};
  };
  struct Expected {
    int number = 0;
    double microseconds = 0;
  };

  FittedTimes() = default;
  /// Of the configurations `classes`, numbered in their order, and these problems of the table. One that
  /// fewer problems of a kind were measured with than there are parts has no fit for that kind.
  FittedTimes(const TimingTable& table, const std::vector<std::size_t>& problems,
              const std::vector<int>& classes);
  /// Fits that were stored. InternalError for one of a kind that there is not.
  FittedTimes(std::vector<Kind> kinds, std::vector<Fit> fits);

  /// The configurations that have a fit for the kind of the problem, the fastest first, of equal ones the
  /// lowest number; none for a kind that is not known.
  std::vector<Expected> ranking(const FeatureValues& values) const;
  /// Whether there are fits, and the problem lies within what they were fitted to.
  bool covers(const FeatureValues& values) const;

  /// Those that tell the kinds apart.
  std::vector<std::size_t> features_that_differ() const;
  const std::vector<Kind>& kinds() const { return kinds_; }
  const std::vector<Fit>& fits() const { return fits_; }  ///< those of the first kind first

 private:
  std::vector<Kind> kinds_;
  std::vector<Fit> fits_;
};

}  // namespace weft
