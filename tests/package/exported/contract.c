/* What a package promises, kept against a driver that counts and fails: status and text of every wrong use,
 * nothing written by it, nothing allocated by launch, results for awkward sizes. */
#define _GNU_SOURCE
#include "contract.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "early.h"
#include "plain.h"
#include "read_file.h"
#include "split.h"

driver device;
static int failures;

void expect(const char* what, long long wanted, long long found) {
  if (wanted == found) return;
  printf("FAILED: %s: %lld, expected %lld\n", what, found, wanted);
  ++failures;
}

void expect_word(const char* what, const char* word, const char* text) {
  if (strstr(text, word) != NULL) return;
  printf("FAILED: %s: \"%s\" does not say %s\n", what, text, word);
  ++failures;
}

uint64_t on_device(const void* data, size_t bytes) {
  uint64_t address = 0;
  expect("device memory", 0, device.allocate(&address, bytes));
  expect("upload", 0, device.upload(address, data, bytes));
  return address;
}

float* numbers(size_t count, unsigned seed) {
  float* data = (float*)aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(int)(seed >> 20) / 2048.0f - 1.0f;
  }
  return data;
}

int forbidden_calls(void) {
  return device.calls("cuMemAlloc_v2") + device.calls("cuMemFree_v2") + device.calls("cuStreamSynchronize") +
         device.calls("cuModuleLoadData") + device.calls("cuModuleGetFunction") +
         device.calls("cuFuncSetAttribute") + device.calls("cuMemcpyHtoDAsync_v2") +
         device.calls("cuDevicePrimaryCtxRetain");
}

static void load_driver(void) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  const char* names[] = {"cuMemAlloc_v2", "cuMemFree_v2", "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",
                         "simulated_calls", "simulated_capture", "simulated_destroy_graph", "simulated_cleared"};
  void* targets[] = {&device.allocate, &device.release, &device.upload,        &device.download,
                     &device.calls,    &device.capture, &device.destroy_graph, &device.cleared};
  int i;
  for (i = 0; i < 8; ++i) {
    void* symbol = library != NULL ? dlsym(library, names[i]) : NULL;
    if (symbol == NULL) {
      printf("no simulated driver\n");
      exit(2);
    }
    memcpy(targets[i], &symbol, sizeof symbol);
  }
}

/* --- open ------------------------------------------------------------------------------------------------
 */

static int allocations, releases;
static void* give(void* ctx, size_t bytes, plain_stream stream) {
  uint64_t address = 0;
  (void)stream;
  expect("the context of dev_alloc", 1, ctx == &allocations);
  ++allocations;
  return device.allocate(&address, bytes) == 0 ? (void*)(uintptr_t)address : NULL;
}
static void take(void* ctx, void* memory, plain_stream stream) {
  (void)stream;
  expect("the context of dev_free", 1, ctx == &allocations);
  ++releases;
  device.release((uint64_t)(uintptr_t)memory);
}

static int32_t open_plain(plain_open_desc desc, char* why, plain** handle) {
  why[0] = 0;
  desc.why = why;
  desc.why_bytes = 200;
  return plain_open(&desc, handle);
}

static void open_and_fail(const plain_open_desc* good) {
  char why[200];
  plain* handle = NULL;
  plain_open_desc desc = *good;
  setenv("SIMULATED_CAPABILITY", "35", 1);
  expect("a device of 3.5", PLAIN_NO_KERNEL, open_plain(desc, why, &handle));
  expect_word("a device of 3.5", "3.5", why);
  expect("no handle", 1, handle == NULL);
  unsetenv("SIMULATED_CAPABILITY");
  setenv("SIMULATED_FAIL", "cuInit", 1);
  expect("a driver without devices", PLAIN_NO_DEVICE, open_plain(desc, why, &handle));
  setenv("SIMULATED_FAIL", "cuMemAlloc_v2", 1);
  expect("no memory", PLAIN_OUT_OF_MEMORY, open_plain(desc, why, &handle));
  setenv("SIMULATED_FAIL", "cuModuleLoadData", 1);
  expect("a module refused", PLAIN_CUDA, open_plain(desc, why, &handle));
  expect("the driver's number", 719, plain_last_cuda_error());
  expect_word("a module refused", "simulated failure", why);
  unsetenv("SIMULATED_FAIL");
  desc.device = 7;
  expect("device 7", PLAIN_NO_DEVICE, open_plain(desc, why, &handle));
  expect_word("device 7", "7", why);
  desc = *good;
  desc.dev_alloc = give;
  expect("dev_alloc without dev_free", PLAIN_BAD_ARG, open_plain(desc, why, &handle));
  desc = *good;
  desc.weights = (const char*)desc.weights + 4;
  expect("weights at an odd place", PLAIN_BAD_ALIGN, open_plain(desc, why, &handle));
  desc.weights = NULL;
  expect("no weights", PLAIN_BAD_ARG, open_plain(desc, why, &handle));
}

static void open_with_allocator(const plain_open_desc* good) {
  char why[200];
  plain* handle = NULL;
  plain_open_desc desc = *good;
  desc.dev_alloc = give;
  desc.dev_free = take;
  desc.alloc_ctx = &allocations;
  expect("a caller's allocator", PLAIN_OK, open_plain(desc, why, &handle));
  expect("it was asked once", 1, allocations);
  plain_close(handle);
  expect("and given back", 1, releases);
}

/* --- launch ----------------------------------------------------------------------------------------------
 */

static plain_args make_args(int64_t n) {
  plain_args args;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.n = n;
  args.alpha = 0.5f;
  args.beta = 2.0f;
  return args;
}

static void launch_size(const plain* handle, const void* weights, size_t bytes, int64_t n) {
  const size_t in = (size_t)(PLAIN_COLUMNS * n), out = (size_t)(PLAIN_ROWS * n);
  float *b = numbers(in, 1), *bias = numbers(PLAIN_ROWS, 2), *c = numbers(out, 3), *result = numbers(out, 4);
  plain_args host = make_args(n), args = make_args(n);
  const char* name = "";
  size_t needed = 1, i;
  int before;
  args.b = (const void*)(uintptr_t)on_device(b, in * 4);
  args.bias = (const void*)(uintptr_t)on_device(bias, PLAIN_ROWS * 4);
  args.c = (void*)(uintptr_t)on_device(c, out * 4);
  host.b = b;
  host.bias = bias;
  host.c = c;
  expect("workspace", PLAIN_OK, plain_workspace(handle, &args, &needed, NULL));
  expect("none is needed", 0, (long long)needed);
  expect("variant", PLAIN_OK, plain_variant(handle, &args, &name));
  expect_word("variant", n % 8 == 0 ? "multiples of 8" : "size 1 to 512", name);
  before = forbidden_calls();
  expect("launch", PLAIN_OK, plain_launch(handle, &args, NULL, 0, NULL));
  expect("calls that launch must not make", before, forbidden_calls());
  expect("reference", PLAIN_OK, plain_reference(weights, bytes, &host));
  expect("download", 0, device.download(result, (uint64_t)(uintptr_t)args.c, out * 4));
  for (i = 0; i < out; ++i) {
    if (fabs((double)result[i] - (double)c[i]) <= 1e-4) continue;
    printf("size %lld, element %llu: %g, expected %g\n", (long long)n, (unsigned long long)i,
           (double)result[i], (double)c[i]);
    expect("a result", 0, 1);
    break;
  }
  device.release((uint64_t)(uintptr_t)args.b);
  device.release((uint64_t)(uintptr_t)args.bias);
  device.release((uint64_t)(uintptr_t)args.c);
  free(b);
  free(bias);
  free(c);
  free(result);
}

static void launch_wrongly(const plain* handle) {
  enum { n = 16 };
  const size_t in = (size_t)PLAIN_COLUMNS * n, out = (size_t)PLAIN_ROWS * n;
  float *b = numbers(in, 1), *c = numbers(out, 3), *after = numbers(out, 3);
  plain_args args = make_args(n), call;
  char why[200] = "";
  int launches;
  args.b = (const void*)(uintptr_t)on_device(b, in * 4);
  args.bias = (const void*)(uintptr_t)on_device(b, PLAIN_ROWS * 4);
  args.c = (void*)(uintptr_t)on_device(c, out * 4);
  launches = device.calls("cuLaunchKernel");
  expect("no handle", PLAIN_BAD_ARG, plain_launch(NULL, &args, NULL, 0, NULL));
  call = args;
  call.c = NULL;
  expect("null", PLAIN_BAD_ARG, plain_launch(handle, &call, NULL, 0, NULL));
  call = args;
  call.b = (const char*)call.b + 4;
  expect("misaligned", PLAIN_BAD_ALIGN, plain_launch(handle, &call, NULL, 0, NULL));
  expect("check says the same", PLAIN_BAD_ALIGN, plain_check(handle, &call, NULL, 0, why, sizeof why));
  expect_word("misaligned", "b does not begin at a multiple of 16", why);
  call = args;
  call.n = 513;
  expect("beyond the claim", PLAIN_BAD_SHAPE, plain_launch(handle, &call, NULL, 0, NULL));
  plain_check(handle, &call, NULL, 0, why, sizeof why);
  expect_word("beyond the claim", "1 to 512", why);
  call.n = -5;
  expect("below zero", PLAIN_BAD_SHAPE, plain_launch(handle, &call, NULL, 0, NULL));
  call.n = 0;
  call.b = NULL;
  expect("nothing to do", PLAIN_OK, plain_launch(handle, &call, NULL, 0, NULL));
  expect("nothing was launched", launches, device.calls("cuLaunchKernel"));
  setenv("SIMULATED_FAIL", "cuLaunchKernel", 1);
  expect("a launch refused", PLAIN_CUDA, plain_launch(handle, &args, NULL, 0, NULL));
  unsetenv("SIMULATED_FAIL");
  expect("download", 0, device.download(after, (uint64_t)(uintptr_t)args.c, out * 4));
  expect("nothing was written", 0, memcmp(after, c, out * 4));
  free(b);
  free(c);
  free(after);
}

/* A workspace full of anything, lent twice. */
static void lend_workspace(const void* weights, size_t bytes) {
  enum { in = 37 * 33, out = 9 * 33 };
  split_open_desc desc = SPLIT_OPEN_DESC;
  split* handle = NULL;
  float *b = numbers(in, 1), *c = numbers(out, 2), *result = numbers(out, 3);
  unsigned char* noise;
  uint64_t memory;
  size_t needed = 0, align = 0, i;
  split_args args, host;
  int turn;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  host = args;
  desc.weights = weights;
  desc.weights_bytes = bytes;
  expect("open split", SPLIT_OK, split_open(&desc, &handle));
  if (handle == NULL) return;
  args.b = (const void*)(uintptr_t)on_device(b, in * 4);
  args.c = (void*)(uintptr_t)on_device(c, out * 4);
  host.b = b;
  host.c = c;
  expect("workspace", SPLIT_OK, split_workspace(handle, &args, &needed, &align));
  expect("its alignment", 256, (long long)align);
  expect("some is needed", 1, needed > 0);
  noise = (unsigned char*)malloc(needed + 256);
  memset(noise, 0xA5, needed + 256);
  memory = on_device(noise, needed + 256);
  expect("none lent", SPLIT_WORKSPACE, split_launch(handle, &args, NULL, 0, NULL));
  expect("one byte short", SPLIT_WORKSPACE,
         split_launch(handle, &args, (void*)(uintptr_t)memory, needed - 1, NULL));
  expect("at an odd place", SPLIT_BAD_ALIGN,
         split_launch(handle, &args, (void*)(uintptr_t)(memory + 16), needed, NULL));
  expect("reference", SPLIT_OK, split_reference(weights, bytes, &host));
  for (turn = 0; turn < 2; ++turn) {
    expect("launch", SPLIT_OK, split_launch(handle, &args, (void*)(uintptr_t)memory, needed, NULL));
    expect("download", 0, device.download(result, (uint64_t)(uintptr_t)args.c, out * 4));
    for (i = 0; i < out; ++i)
      if (fabs((double)result[i] - (double)c[i]) > 1e-4) {
        expect("a result of split", 0, 1 + (long long)i);
        break;
      }
  }
  split_close(handle);
}

/* A kernel and the two launches around it each begin before the one in front has ended, or none does. */
static void overlap_launches(const void* weights, size_t bytes) {
  enum { in = 37 * 33, out = 9 * 33 };
  float *b = numbers(in, 1), *c = numbers(out, 2), *result = numbers(out, 3);
  early_args args, host;
  int in_order;
  size_t i;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  host = args;
  args.b = (const void*)(uintptr_t)on_device(b, in * 4);
  args.c = (void*)(uintptr_t)on_device(c, out * 4);
  host.b = b;
  host.c = c;
  expect("reference", EARLY_OK, early_reference(weights, bytes, &host));
  for (in_order = 0; in_order < 2; ++in_order) {
    early_open_desc desc = EARLY_OPEN_DESC;
    early* handle = NULL;
    size_t needed = 0;
    const int plain_before = device.calls("cuLaunchKernel"), before = device.calls("cuLaunchKernelEx");
    uint64_t memory;
    int fills;
    desc.weights = weights;
    desc.weights_bytes = bytes;
    desc.flags = in_order ? EARLY_IN_ORDER : 0;
    expect("open early", EARLY_OK, early_open(&desc, &handle));
    if (handle == NULL) return;
    expect("workspace", EARLY_OK, early_workspace(handle, &args, &needed, NULL));
    expect("device memory", 0, device.allocate(&memory, needed));
    fills = device.calls("cuMemsetD8Async");
    expect("launch", EARLY_OK, early_launch(handle, &args, (void*)(uintptr_t)memory, needed, NULL));
    expect("what blocks meet in was cleared", 1, device.calls("cuMemsetD8Async") > fills);
    fills = device.calls("cuMemsetD8Async");
    args.flags = EARLY_WORKSPACE_KEPT;
    expect("launch", EARLY_OK, early_launch(handle, &args, (void*)(uintptr_t)memory, needed, NULL));
    expect("and is clear", 0, device.calls("cuMemsetD8Async") - fills);
    args.flags = 0;
    expect("launches that overlap", in_order ? 0 : 6, device.calls("cuLaunchKernelEx") - before);
    expect("launches that do not", in_order ? 6 : 0, device.calls("cuLaunchKernel") - plain_before);
    expect("download", 0, device.download(result, (uint64_t)(uintptr_t)args.c, out * 4));
    for (i = 0; i < out; ++i)
      if (fabs((double)result[i] - (double)c[i]) > 1e-4) {
        expect("a result of early", 0, 1 + (long long)i);
        break;
      }
    device.release(memory);
    early_close(handle);
  }
  free(b);
  free(c);
  free(result);
}

int main(int count, char** arguments) {
  static const int64_t sizes[] = {1, 2, 7, 31, 33, 49, 63, 64, 65, 127, 129, 196, 512};
  char why[200];
  size_t bytes = 0, split_bytes = 0, early_bytes = 0, i;
  void* weights = read_file(count > 1 ? arguments[1] : "", &bytes);
  void* of_split = read_file(count > 2 ? arguments[2] : "", &split_bytes);
  void* of_early = read_file(count > 3 ? arguments[3] : "", &early_bytes);
  plain_open_desc desc = PLAIN_OPEN_DESC;
  plain* handle = NULL;
  load_driver();
  desc.weights = weights;
  desc.weights_bytes = bytes;
  open_and_fail(&desc);
  open_with_allocator(&desc);
  expect("open", PLAIN_OK, open_plain(desc, why, &handle));
  if (handle == NULL) {
    printf("%s\n", why);
    return 1;
  }
  for (i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) launch_size(handle, weights, bytes, sizes[i]);
  launch_wrongly(handle);
  plain_close(handle);
  plain_close(NULL);
  lend_workspace(of_split, split_bytes);
  overlap_launches(of_early, early_bytes);
  own_counters(of_split, split_bytes);
  check_packing(weights, bytes);
  expect("contexts given back", device.calls("cuDevicePrimaryCtxRetain"),
         device.calls("cuDevicePrimaryCtxRelease_v2"));
  expect("modules given back", device.calls("cuModuleLoadData") - 1,
         device.calls("cuModuleUnload")); /* one failed */
  printf("contract: %s\n", failures == 0 ? "kept" : "broken");
  return failures == 0 ? 0 : 1;
}
