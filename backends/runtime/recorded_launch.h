// One launch, given to a device the way in which launches are timed.
#pragma once

#include <weft/backends/runtime/stream.h>

#include <functional>

namespace weft {

/// Calls `before`, then has done what `launch_once` gives to its stream, and waits for it. On a CUDA device
/// it is recorded as a graph, then `before` is called, and then the graph is launched: what a function did
/// beside the stream that it was given has happened before `before`, and does not happen again, as it does
/// not in the samples of time(). RuntimeError as time(), and what the functions throw.
void launch_as_timed(const Device& device, const std::function<void(StreamHandle)>& launch_once,
                     const std::function<void()>& before);

}  // namespace weft
