/* Layers of a package net whose weights are of a byte: quantized PACKAGE FOLDER N DEVICE LAYER ... Rows are read from
 * FOLDER/LAYER.x, what they were divided by from LAYER.tokens, a bias from LAYER.bias; the results go to LAYER.y. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "read_file.h"

/* The few calls of CUDA's driver that a caller of a package needs; NULL on the processor. */
static int (*allocate)(uint64_t* address, size_t bytes);
static int (*upload)(uint64_t to, const void* from, size_t bytes);
static int (*download)(void* to, uint64_t from, size_t bytes);

static int open_driver(void) {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
  int (*init)(unsigned), (*retain)(void**, int), (*push)(void*);
  if (driver == NULL) return 1;
  *(void**)&init = dlsym(driver, "cuInit");
  *(void**)&retain = dlsym(driver, "cuDevicePrimaryCtxRetain");
  *(void**)&push = dlsym(driver, "cuCtxPushCurrent_v2");
  *(void**)&allocate = dlsym(driver, "cuMemAlloc_v2");
  *(void**)&upload = dlsym(driver, "cuMemcpyHtoD_v2");
  *(void**)&download = dlsym(driver, "cuMemcpyDtoH_v2");
  return init(0) != 0 || retain(&context, 0) != 0 || push(context) != 0;
}

/* Memory where the kernels run, with that in it; the program's end gives it back. */
static void* placed(const void* data, size_t bytes) {
  const size_t size = (bytes / 256 + 1) * 256;
  uint64_t address;
  void* memory = aligned_alloc(256, size);
  memset(memory, 0xFF, size);
  if (data != NULL) memcpy(memory, data, bytes);
  if (allocate == NULL) return memory;
  if (allocate(&address, size) != 0 || upload(address, memory, size) != 0) exit(3);
  free(memory);
  return (void*)(uintptr_t)address;
}

static void* file_of(const char* folder, const char* name, const char* ending, size_t* bytes) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
  return read_file(path, bytes);
}

static void* placed_file(const char* folder, const char* name, const char* ending, int64_t bytes) {
  size_t found;
  void *data = file_of(folder, name, ending, &found), *memory = placed(data, found);
  if (found != (size_t)bytes) exit(4);
  free(data);
  return memory;
}

static int run(const net_layer* layer, int32_t device, const char* package, const char* folder, int64_t n) {
  char path[1000], why[400] = "";
  size_t bytes, needed;
  const size_t result_bytes = (size_t)(n * layer->rows) * sizeof(uint16_t);
  void *handle, *weights, *input, *workspace, *output, *bias = NULL;
  net_scales scales;
  int32_t status;
  FILE* written;
  if (layer->scale == NULL || strcmp(layer->dtype, "f16") != 0) return 1;
  weights = file_of(package, layer->weights, "", &bytes);
  if (layer->open(weights, bytes, device, &handle, why, sizeof why) != 0) {
    printf("%s is not opened: %s\n", layer->name, why);
    return 1;
  }
  scales.of_rows = (const float*)placed_file(package, layer->scale, "", layer->rows * 4);
  scales.of_tokens = (const float*)placed_file(folder, layer->name, ".tokens", n * 4);
  input = placed_file(folder, layer->name, ".x", n * layer->columns);
  if (layer->has_bias) bias = placed_file(folder, layer->name, ".bias", layer->rows * 2);
  if ((device == NET_HOST ? layer->workspace_of_rows : layer->workspace)(handle, n, &needed) != 0) return 1;
  workspace = placed(NULL, needed);
  output = placed(NULL, result_bytes);
  /* Without its scales it is not launched. */
  if (layer->launch(handle, 1, input, bias, output, workspace, needed, NULL) == 0 ||
      layer->launch_rows(handle, 1, input, bias, output, workspace, needed) == 0)
    return 1;
  if (device == NET_HOST)
    status = layer->launch_scaled_rows(handle, n, input, &scales, bias, output, workspace, needed);
  else
    status = layer->launch_scaled(handle, n, input, &scales, bias, output, workspace, needed, NULL);
  if (status != 0) {
    printf("%s is not launched: %d\n", layer->name, status);
    return 1;
  }
  if (download != NULL) {
    void* copy = malloc(result_bytes);
    if (download(copy, (uint64_t)(uintptr_t)output, result_bytes) != 0) return 1;
    output = copy;
  }
  layer->close(handle);
  snprintf(path, sizeof path, "%s/%s.y", folder, layer->name);
  written = fopen(path, "wb");
  if (written == NULL || fwrite(output, 1, result_bytes, written) != result_bytes) return 1;
  fclose(written);
  free(weights);
  return 0;
}

int main(int count, char** arguments) {
  int i;
  int32_t device;
  if (count < 6) return 2;
  device = strcmp(arguments[4], "gpu") == 0 ? 0 : NET_HOST;
  if (device != NET_HOST && open_driver() != 0) return 2;
  for (i = 5; i < count; ++i) {
    if (run(net_find(arguments[i], device), device, arguments[1], arguments[2], atoll(arguments[3])) == 0) continue;
    printf("%s is wrong\n", arguments[i]);
    return 1;
  }
  return 0;
}
