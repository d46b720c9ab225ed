/* Kernels for processors in a program: their results, by one thread, by several and from inside of one another's
 * tasks; what a launch must not do. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coded.h"
#include "read_file.h"
#include "rows.h"

enum { n = 131, threads = 3, pieces = 8 };

static int failures;

static void expect(const char* what, long long wanted, long long found) {
  if (wanted == found) return;
  printf("FAILED: %s: %lld, expected %lld\n", what, found, wanted);
  ++failures;
}

/* What the linker puts in place of the C library's. */
static atomic_int allocations;
void* __real_malloc(size_t bytes);
void* __real_calloc(size_t count, size_t bytes);
void* __real_realloc(void* memory, size_t bytes);
void* __real_aligned_alloc(size_t alignment, size_t bytes);
int __real_posix_memalign(void** memory, size_t alignment, size_t bytes);
void* __wrap_malloc(size_t bytes);
void* __wrap_calloc(size_t count, size_t bytes);
void* __wrap_realloc(void* memory, size_t bytes);
void* __wrap_aligned_alloc(size_t alignment, size_t bytes);
int __wrap_posix_memalign(void** memory, size_t alignment, size_t bytes);
void* __wrap_malloc(size_t bytes) {
  ++allocations;
  return __real_malloc(bytes);
}
void* __wrap_calloc(size_t count, size_t bytes) {
  ++allocations;
  return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* memory, size_t bytes) {
  ++allocations;
  return __real_realloc(memory, bytes);
}
void* __wrap_aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** memory, size_t alignment, size_t bytes) {
  ++allocations;
  return __real_posix_memalign(memory, alignment, bytes);
}

static float* numbers(size_t count, unsigned seed) {
  float* data = (float*)aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  size_t i;
  for (i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = (float)(int)(seed >> 20) / 2048.0f - 1.0f;
  }
  return data;
}

static void expect_near(const char* what, const float* found, const float* expected, size_t count) {
  size_t i;
  for (i = 0; i < count; ++i) {
    if (fabsf(found[i] - expected[i]) <= 1e-4f * (1 + fabsf(expected[i]))) continue;
    printf("FAILED: %s, element %d: %g, expected %g\n", what, (int)i, (double)found[i], (double)expected[i]);
    ++failures;
    return;
  }
}

/* A loop on threads of its own, more of them than use_threads() is told of. */
typedef struct {
  coded_task* task;
  void* task_ctx;
  int64_t begin, end;
} piece;

static void* run_piece(void* data) {
  const piece* p = (const piece*)data;
  p->task(p->task_ctx, p->begin, p->end);
  return NULL;
}

static void on_threads(void* ctx, int64_t count, coded_task* task, void* task_ctx) {
  pthread_t thread[pieces];
  piece all[pieces];
  int i;
  ++*(atomic_int*)ctx;
  for (i = 0; i < pieces; ++i) {
    all[i].task = task;
    all[i].task_ctx = task_ctx;
    all[i].begin = count * i / pieces;
    all[i].end = count * (i + 1) / pieces;
    expect("a thread", 0, pthread_create(&thread[i], NULL, run_piece, &all[i]));
  }
  for (i = 0; i < pieces; ++i) pthread_join(thread[i], NULL);
}

static coded* opened(const void* weights, size_t bytes) {
  char why[200] = "";
  coded_open_desc desc = CODED_OPEN_DESC;
  coded* handle = NULL;
  desc.device = CODED_HOST;
  desc.weights = weights;
  desc.weights_bytes = bytes;
  desc.why = why;
  desc.why_bytes = sizeof why;
  expect(why, CODED_OK, coded_open(&desc, &handle));
  return handle;
}

typedef struct {
  coded* handle;
  coded_args args;
  void* workspace;
  size_t bytes;
} call;

static void lend(call* c) {
  expect("workspace", CODED_OK, coded_workspace(c->handle, &c->args, &c->bytes, NULL));
  c->workspace = aligned_alloc(256, (c->bytes / 256 + 1) * 256);
}

static void launch(const char* what, const call* c, const float* expected) {
  float* found = (float*)c->args.c;
  const int before = allocations;
  memset(found, 0xff, sizeof(float) * CODED_ROWS * n);
  expect(what, CODED_OK, coded_launch(c->handle, &c->args, c->workspace, c->bytes, NULL));
  if (strcmp(what, "on threads") != 0) expect("allocations of a launch", before, allocations);
  expect_near(what, found, expected, (size_t)CODED_ROWS * n);
}

/* Two launches at once, each of which lends its threads to its own loops. */
static void launch_both(void* task_ctx, int64_t begin, int64_t end) {
  const call* calls = (const call*)task_ctx;
  for (; begin < end; ++begin) {
    if (begin >= 2) continue;
    expect("inside a task", CODED_OK,
           coded_launch(calls[begin].handle, &calls[begin].args, calls[begin].workspace, calls[begin].bytes, NULL));
  }
}

static void run_coded(const void* weights, size_t bytes) {
  atomic_int loops = 0, outer = 0;
  float* expected = numbers((size_t)CODED_ROWS * n, 1);
  const char* name = "";
  call calls[2];
  int i;
  for (i = 0; i < 2; ++i) {
    calls[i].handle = opened(weights, bytes);
    memset(&calls[i].args, 0, sizeof calls[i].args);
    calls[i].args.struct_size = sizeof calls[i].args;
    calls[i].args.n = n;
    calls[i].args.b = numbers((size_t)CODED_COLUMNS * n, 2);
    calls[i].args.c = expected;
    expect("reference", CODED_OK, coded_reference(weights, bytes, &calls[i].args));
    calls[i].args.c = numbers((size_t)CODED_ROWS * n, 3);
    lend(&calls[i]);
    launch("on one thread", &calls[i], expected);
    expect("lending threads", CODED_OK, coded_use_threads(calls[i].handle, on_threads, &loops, threads));
    free(calls[i].workspace);
    lend(&calls[i]);
    launch("on threads", &calls[i], expected);
  }
  expect("variant", CODED_OK, coded_variant(calls[0].handle, &calls[0].args, &name));
  printf("%s: %d loops on threads\n", name, (int)loops);
  if (strcmp(name, "reference") != 0 && loops == 0) expect("loops", 1, 0);
  memset(calls[0].args.c, 0xff, sizeof(float) * CODED_ROWS * n);
  memset(calls[1].args.c, 0xff, sizeof(float) * CODED_ROWS * n);
  on_threads(&outer, pieces, launch_both, calls);
  for (i = 0; i < 2; ++i) {
    expect_near("inside a task", (const float*)calls[i].args.c, expected, (size_t)CODED_ROWS * n);
    expect("one thread again", CODED_OK, coded_use_threads(calls[i].handle, NULL, NULL, 0));
    coded_close(calls[i].handle);
    free((void*)calls[i].args.b);
    free(calls[i].args.c);
    free(calls[i].workspace);
  }
  free(expected);
}

/* A package that is for a GPU, too, is for the processor where it is asked for that. */
static void open_rows(const void* weights, size_t bytes) {
  rows_open_desc desc = ROWS_OPEN_DESC;
  rows* handle = NULL;
  desc.device = ROWS_HOST;
  desc.weights = weights;
  desc.weights_bytes = bytes;
  expect("rows", ROWS_OK, rows_open(&desc, &handle));
  expect("too many threads", ROWS_BAD_ARG, rows_use_threads(handle, on_threads, NULL, 1025));
  expect("threads of nothing", ROWS_BAD_ARG, rows_use_threads(NULL, on_threads, NULL, 2));
  rows_close(handle);
  desc.device = ROWS_HOST - 1;
  expect("no device", ROWS_NO_DEVICE, rows_open(&desc, &handle));
}

int main(int count, char** arguments) {
  size_t of_coded, of_rows;
  void* weights = read_file(count > 1 ? arguments[1] : "", &of_coded);
  void* rows_weights = read_file(count > 2 ? arguments[2] : "", &of_rows);
  run_coded(weights, of_coded);
  open_rows(rows_weights, of_rows);
  free(weights);
  free(rows_weights);
  printf("%s\n", failures == 0 ? "passed" : "FAILED");
  return failures == 0 ? 0 : 1;
}
