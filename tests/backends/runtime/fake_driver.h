// What the driver of fake_driver.cpp did, and what it is told to do.
#pragma once

#include <cstddef>

struct FakeDriverState {
  int contexts_retained = 0;
  int contexts_released = 0;
  int context_depth = 0;
  int allocations = 0;
  int frees = 0;
  int modules_loaded = 0;
  int modules_unloaded = 0;
  int launches = 0;
  int overlapping_launches = 0;  ///< those among them, of 2 blocks of 64 threads
  int first_argument = 0;
  int shared_limit = 0;
  int big_clusters_allowed = 0;
  int streams = 0;
  unsigned stream_flags = 0;
  int events = 0;
  int graphs = 0;
  int graph_launches = 0;
  std::size_t flushed_bytes = 0;
  double microseconds = 0;

  bool stuck = false;    ///< events stay unfinished
  int launch_error = 0;  ///< answer of a launch
  int kernel_error = 0;  ///< answer of an event: an error of a kernel that ran
};
