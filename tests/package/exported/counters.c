/* Threads that launch at once, each in its own stream and in captures of its own, on a driver of this file: no two have
 * the same counters at a time, and what graphs leave is lent again while others ask. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "split_internal.h"
#include "split_open.h"

enum { thread_count = 6, captures_of_thread = 5000 };

static struct split handle;
static uint64_t captures;
static int wrong;
static _Thread_local uint64_t capture; /* of the calling thread's stream; 0: none */

typedef struct {
  void* given;
  void (*destroy)(void*);
} user_object;
static _Thread_local user_object* of_graph;

static int create_stream(void** stream, unsigned flags) {
  *stream = malloc(1);
  return flags == 1 ? 0 : 1;
}
static int destroy_stream(void* stream) {
  free(stream);
  return 0;
}
static int exchange_mode(int* mode) { return *mode < 0; }
static int allocate(uint64_t* address, size_t bytes) {
  *address = (uint64_t)(uintptr_t)calloc(1, bytes);
  return 0;
}
static int release(uint64_t address) {
  free((void*)(uintptr_t)address);
  return 0;
}
static int fill(uint64_t address, unsigned char value, size_t bytes, void* stream) {
  return address == 0 || value != 0 || bytes == 0 || stream == NULL;
}
static int synchronize(void* stream) { return stream == NULL; }
static int capture_info(void* stream, int* status, uint64_t* id, void** graph, const void** nodes, size_t* count) {
  *status = capture != 0;
  *id = capture;
  *graph = &capture;
  return stream == NULL || nodes != NULL || count != NULL;
}
static int create_object(void** object, void* given, void (*destroy)(void*), unsigned references, unsigned flags) {
  user_object* made = (user_object*)malloc(sizeof *made);
  made->given = given;
  made->destroy = destroy;
  *object = made;
  return references != 1 || flags != 1;
}
static int release_object(void* object, unsigned references) {
  user_object* released = (user_object*)object;
  released->destroy(released->given);
  free(released);
  return references != 1;
}
static int retain_object(void* graph, void* object, unsigned references, unsigned flags) {
  of_graph = (user_object*)object;
  return graph != (void*)&capture || references != 1 || flags != 1;
}

static void* launches(void* stream) {
  const uint64_t own = split_counters_of(&handle, (split_stream)stream);
  /* They stay marked: they are the stream's until the handle is closed. */
  int i, failures = own == 0 || __atomic_exchange_n((int*)(uintptr_t)own, 1, __ATOMIC_ACQ_REL) != 0;
  for (i = 0; i < captures_of_thread; ++i) {
    int* counters;
    failures += split_counters_of(&handle, (split_stream)stream) != own;
    capture = __atomic_add_fetch(&captures, 1, __ATOMIC_RELAXED);
    of_graph = NULL;
    counters = (int*)(uintptr_t)split_counters_of(&handle, (split_stream)stream);
    if (counters == NULL || of_graph == NULL) {
      ++failures;
      break;
    }
    /* Another thread that had them too would see the one, or take it away. */
    failures += __atomic_exchange_n(counters, 1, __ATOMIC_ACQ_REL) != 0;
    failures += split_counters_of(&handle, (split_stream)stream) != (uint64_t)(uintptr_t)counters;
    failures += __atomic_exchange_n(counters, 0, __ATOMIC_ACQ_REL) != 1;
    capture = 0;
    release_object(of_graph, 1);
  }
  __atomic_add_fetch(&wrong, failures, __ATOMIC_RELAXED);
  return NULL;
}

int main(void) {
  pthread_t threads[thread_count];
  static char streams[thread_count];
  split_driver* api = &handle.api;
  int i;
  api->knows_captures = 1;
  api->cuStreamCreate = create_stream;
  api->cuStreamDestroy_v2 = destroy_stream;
  api->cuThreadExchangeStreamCaptureMode = exchange_mode;
  api->cuMemAlloc_v2 = allocate;
  api->cuMemFree_v2 = release;
  api->cuMemsetD8Async = fill;
  api->cuStreamSynchronize = synchronize;
  api->cuStreamGetCaptureInfo_v2 = capture_info;
  api->cuUserObjectCreate = create_object;
  api->cuUserObjectRelease = release_object;
  api->cuGraphRetainUserObject = retain_object;
  handle.counters = split_counters_make();
  for (i = 0; i < thread_count; ++i) pthread_create(&threads[i], NULL, launches, &streams[i]);
  for (i = 0; i < thread_count; ++i) pthread_join(threads[i], NULL);
  split_counters_free(api, handle.counters);
  printf("counters: %d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
