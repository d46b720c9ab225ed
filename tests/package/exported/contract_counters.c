/* Counters that a handle keeps: cleared once for each stream and each captured graph, shared by no two of them, lent on
 * when a graph is gone, and done without where there are none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract.h"
#include "split.h"

enum { in = 37 * 33, out = 9 * 33 };

typedef struct {
  split* handle;
  split_args args;
  float *expected, *result;
  unsigned char* noise;
  uint64_t memory;
  size_t bytes;
} layer;

typedef struct {
  int allocations, fills, captured;
} work;

static work work_so_far(void) {
  const work so_far = {device.calls("cuMemAlloc_v2"), device.calls("cuMemsetD8Async"),
                       device.calls("captured cuMemsetD8Async")};
  return so_far;
}

static void* stream_named(uintptr_t number) { return (void*)number; }

static layer open_layer(const void* weights, size_t bytes) {
  split_open_desc desc = SPLIT_OPEN_DESC;
  split_args host;
  layer l;
  float* b = numbers(in, 4);
  memset(&l, 0, sizeof l);
  desc.weights = weights;
  desc.weights_bytes = bytes;
  expect("open split", SPLIT_OK, split_open(&desc, &l.handle));
  l.expected = numbers(out, 5);
  l.result = numbers(out, 6);
  l.args.struct_size = sizeof l.args;
  host = l.args;
  host.b = b;
  host.c = l.expected;
  expect("reference", SPLIT_OK, split_reference(weights, bytes, &host));
  l.args.flags = SPLIT_OWN_COUNTERS;
  l.args.b = (const void*)(uintptr_t)on_device(b, in * 4);
  l.args.c = (void*)(uintptr_t)on_device(l.result, out * 4);
  expect("workspace", SPLIT_OK, split_workspace(l.handle, &l.args, &l.bytes, NULL));
  l.noise = (unsigned char*)malloc(l.bytes);
  memset(l.noise, 0xA5, l.bytes);
  l.memory = on_device(l.noise, l.bytes);
  free(b);
  return l;
}

/* Whether one launch gives what it should, in a workspace full of anything. */
static int is_right(const layer* l, void* stream) {
  size_t i;
  memset(l->result, 0xFF, out * 4);
  expect("upload", 0, device.upload((uint64_t)(uintptr_t)l->args.c, l->result, out * 4));
  expect("upload", 0, device.upload(l->memory, l->noise, l->bytes));
  expect("launch", SPLIT_OK,
         split_launch(l->handle, &l->args, (void*)(uintptr_t)l->memory, l->bytes, (split_stream)stream));
  expect("download", 0, device.download(l->result, (uint64_t)(uintptr_t)l->args.c, out * 4));
  for (i = 0; i < out; ++i) {
    if (!(fabs((double)l->result[i] - (double)l->expected[i]) <= 1e-4)) return 0;
  }
  return 1;
}

/* A right launch that allocates and fills so often, `captured` times in a stream that captures. */
static void launch_with(const char* what, const layer* l, void* stream, int allocations, int fills, int captured) {
  const work before = work_so_far();
  work after;
  expect(what, 1, is_right(l, stream));
  after = work_so_far();
  expect(what, allocations, after.allocations - before.allocations);
  expect(what, fills, after.fills - before.fills);
  expect(what, captured, after.captured - before.captured);
}

/* Each stream counts in memory of its own. */
static void in_streams(const layer* l) {
  void *const a = stream_named(0x100), *const b = stream_named(0x200);
  unsigned char ones[64], zeros[64] = {0};
  uint64_t of_a;
  memset(ones, 1, sizeof ones);
  launch_with("the first launch in a stream", l, a, 1, 1, 0);
  of_a = device.cleared();
  launch_with("the second", l, a, 0, 0, 0);
  launch_with("the third", l, a, 0, 0, 0);
  launch_with("the first in another", l, b, 1, 1, 0);
  expect("another stream has its own", 1, device.cleared() != of_a);
  expect("upload", 0, device.upload(of_a, ones, sizeof ones));
  launch_with("what stands there is nothing to the other stream", l, b, 0, 0, 0);
  expect("and is what the first one counts by", 0, is_right(l, a));
  expect("upload", 0, device.upload(of_a, zeros, sizeof zeros));
  launch_with("at zero again", l, a, 0, 0, 0);
  launch_with("the default stream", l, NULL, 1, 1, 0);
  launch_with("the default stream again", l, NULL, 0, 0, 0);
  launch_with("one name for a stream of each thread", l, stream_named(2), 0, 1, 0);
}

/* Each graph does, too, and nothing is filled in it. */
static void in_graphs(const layer* l) {
  void *const a = stream_named(0x100), *const fork = stream_named(0x300);
  uint64_t of_first, refused;
  device.capture(a, 7);
  launch_with("the first launch in a capture", l, a, 1, 1, 0);
  of_first = device.cleared();
  launch_with("the second", l, a, 0, 0, 0);
  expect("allocations end captures again", 900, device.allocate(&refused, 256));
  device.capture(fork, 7);
  launch_with("a stream beside it in the same capture", l, fork, 1, 1, 0);
  device.capture(fork, 0);
  device.capture(a, 0);
  launch_with("the stream itself still has its own", l, a, 0, 0, 0);
  device.capture(a, 8);
  launch_with("another graph", l, a, 1, 1, 0);
  expect("another graph has its own", 1, device.cleared() != of_first);
  device.capture(a, 0);
  device.destroy_graph(7);
  device.capture(a, 9);
  launch_with("what a graph has left", l, a, 0, 0, 0);
  device.capture(a, 0);
  device.destroy_graph(9);
}

/* Where the driver gives none, launches are those without the flag. */
static void without(const layer* l) {
  static const char* const calls[] = {"cuThreadExchangeStreamCaptureMode", "cuMemAlloc_v2", "cuStreamCreate",
                                      "cuStreamSynchronize"};
  void* const stream = stream_named(0x400);
  size_t i;
  for (i = 0; i < sizeof calls / sizeof calls[0]; ++i) {
    setenv("SIMULATED_FAIL", calls[i], 1);
    expect(calls[i], 1, is_right(l, stream));
    unsetenv("SIMULATED_FAIL");
  }
  launch_with("they are had later", l, stream, 1, 1, 0);
  device.capture(stream, 20);
  for (i = 0; i < 2; ++i) {
    setenv("SIMULATED_FAIL", i == 0 ? "cuUserObjectCreate" : "cuGraphRetainUserObject", 1);
    launch_with("a graph that can own nothing", l, stream, 1 - (int)i, 2 - (int)i, 1);
    unsetenv("SIMULATED_FAIL");
  }
  launch_with("the next has what that one did not", l, stream, 0, 0, 0);
  device.capture(stream, 0);
}

void own_counters(const void* weights, size_t bytes) {
  layer l = open_layer(weights, bytes);
  int released, i;
  work before;
  if (l.handle == NULL) return;
  l.args.flags = 0;
  for (i = 0; i < 2; ++i) launch_with("without the flag", &l, stream_named(0x50), 0, 1, 0);
  l.args.flags = SPLIT_OWN_COUNTERS;
  in_streams(&l);
  without(&l);
  in_graphs(&l);
  before = work_so_far();
  for (i = 0; i < 64; ++i) expect("a stream of many", 1, is_right(&l, stream_named(0x1000 + 16 * (uintptr_t)i)));
  /* There are 32: four streams and two graphs have some, two are there that graphs had. */
  expect("streams that have their own", 24, work_so_far().allocations - before.allocations);
  expect("and those that have none fill", 62, work_so_far().fills - before.fills);
  released = device.calls("cuMemFree_v2");
  split_close(l.handle);
  expect("what the handle kept, and its weights", 33, device.calls("cuMemFree_v2") - released);
  device.destroy_graph(8); /* after the handle: they have nothing any more */
  device.destroy_graph(20);
  free(l.expected);
  free(l.result);
  free(l.noise);
}
