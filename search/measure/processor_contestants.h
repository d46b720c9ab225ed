// The dense libraries of the processor as contestants.
#pragma once

#include <weft/search/measure/contestants.h>

#include <vector>

namespace weft {

/// Of suites of f32 one for each library that is there, by one thread and by one a processor; one without a
/// way says why. Convolutions: oneDNN's, with images nchw, nhwc and as it wants them itself, whatever the
/// layout of the suite's problem, timed with the fastest. `libraries` must outlive the result.
std::vector<Contestant> processor_contestants(const Suite& suite, const Libraries& libraries);

}  // namespace weft
