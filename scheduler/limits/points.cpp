#include <weft/scheduler/limits/points.h>

#include <algorithm>

namespace weft {
namespace {

std::vector<std::string> names_of(std::span<const ir::Knob> knobs) {
  std::vector<std::string> names;
  for (const ir::Knob& knob : knobs) names.push_back(knob.name);
  return names;
}

class Walker {
 public:
  using Visit = std::function<bool(std::span<const std::int64_t>)>;

  Walker(std::span<const Constraint> constraints, std::span<const ir::Knob> knobs, std::size_t effort,
         const Visit& visit)
      : knobs_(knobs),
        names_(names_of(knobs)),
        compiled_(constraints, names_),
        ready_(knobs.size() + 1),
        point_(knobs.size()),
        effort_(effort),
        visit_(visit) {
    for (std::size_t i = 0; i < constraints.size(); ++i) {
      std::size_t last = 0;
      for (const std::string& knob : knobs_of(constraints[i]))
        last = std::max(last, static_cast<std::size_t>(std::ranges::find(names_, knob) - names_.begin()) + 1);
      ready_[last].push_back(i);
    }
  }

  Walk descend(std::size_t depth) {
    if (++seen_ > effort_) return Walk::spent;
    for (const std::size_t constraint : ready_[depth]) {
      if (!compiled_.holds(constraint, point_)) return Walk::finished;
    }
    if (depth == knobs_.size()) return visit_(point_) ? Walk::finished : Walk::stopped;
    for (const std::int64_t value : knobs_[depth].values) {
      point_[depth] = value;
      if (const Walk ended = descend(depth + 1); ended != Walk::finished) return ended;
    }
    return Walk::finished;
  }

 private:
  std::span<const ir::Knob> knobs_;
  std::vector<std::string> names_;
  CompiledConstraints compiled_;
  std::vector<std::vector<std::size_t>>
      ready_;  ///< constraints that can be tested once so many knobs have values
  std::vector<std::int64_t> point_;
  std::size_t effort_, seen_ = 0;
  const Visit& visit_;
};

}  // namespace

Walk for_each_point(std::span<const Constraint> constraints, std::span<const ir::Knob> knobs,
                    std::size_t effort, const std::function<bool(std::span<const std::int64_t>)>& visit) {
  return Walker(constraints, knobs, effort, visit).descend(0);
}

}  // namespace weft
