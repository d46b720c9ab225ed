/* The layers of a network package: network FOLDER, whose net/ it is. What stands in the weights comes out where the
 * input is the identity. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "read_file.h"

static void* aligned(size_t bytes) { return aligned_alloc(256, (bytes / 256 + 1) * 256); }

static int check(const net_layer* layer, const char* folder) {
  char path[1000], why[400] = "";
  const int64_t rows = layer->rows, columns = layer->columns;
  const size_t dense_bytes = (size_t)(rows * columns) * sizeof(float);
  float *input = (float*)aligned((size_t)(columns * columns) * sizeof(float)), *output = (float*)aligned(dense_bytes);
  size_t bytes, needed;
  void *handle, *weights, *expected, *workspace;
  int64_t i;
  snprintf(path, sizeof path, "%s/net/%s", folder, layer->weights);
  weights = read_file(path, &bytes);
  if (layer->open(weights, bytes, NET_HOST, &handle, why, sizeof why) != 0) {
    printf("%s is not opened: %s\n", layer->name, why);
    return 1;
  }
  snprintf(path, sizeof path, "%s/net_%s.npy", folder, layer->name);
  expected = read_file(path, &bytes);
  for (i = 0; i < columns * columns; ++i) input[i] = i % columns == i / columns ? 1.0F : 0.0F;
  memset(output, 0xff, dense_bytes);
  if (layer->workspace(handle, columns, &needed) != 0) return 1;
  workspace = aligned(needed);
  if (layer->launch(handle, columns, input, NULL, output, workspace, needed, NULL) != 0) return 1;
  for (i = 0; i < rows * columns; ++i) {
    float wanted;
    memcpy(&wanted, (const char*)expected + bytes - dense_bytes + (size_t)i * sizeof wanted, sizeof wanted);
    if (output[i] == wanted) continue;
    printf("%s, element %lld: %g in place of %g\n", layer->name, (long long)i, (double)output[i], (double)wanted);
    return 1;
  }
  layer->close(handle);
  free(workspace), free(expected), free(weights), free(output), free(input);
  return 0;
}

int main(int count, char** arguments) {
  size_t layers, i, other_bytes;
  const net_layer* const* all = net_layers(&layers);
  char path[1000], why[400] = "";
  void *other, *handle;
  if (count != 2 || layers != 5) return 2;
  for (i = 0; i < layers; ++i) {
    if (check(all[i], arguments[1]) != 0) return 1;
  }
  /* Code that layers share takes the weights of none but the layer that is asked for. */
  snprintf(path, sizeof path, "%s/net/%s", arguments[1], net_find("fc1", NET_HOST)->weights);
  other = read_file(path, &other_bytes);
  if (net_find("fc0", NET_HOST)->open(other, other_bytes, NET_HOST, &handle, why, sizeof why) == 0 ||
      strstr(why, "other places") == NULL)
    return 1;
  free(other);
  return 0;
}
