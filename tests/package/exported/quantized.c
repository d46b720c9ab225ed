/* Layers of a package net whose weights are of a byte: quantized PACKAGE FOLDER N LAYER ... Rows are read from
 * FOLDER/LAYER.x, what they were divided by from LAYER.tokens, a bias from LAYER.bias; the results go to LAYER.y. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "read_file.h"

static void* file_of(const char* folder, const char* name, const char* ending, size_t* bytes) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
  return read_file(path, bytes);
}

static int run(const net_layer* layer, const char* package, const char* folder, int64_t n) {
  char path[1000], why[400] = "";
  size_t bytes, needed, scale_bytes, input_bytes, token_bytes;
  const size_t result_bytes = (size_t)(n * layer->rows) * sizeof(uint16_t);
  void *handle, *weights, *input, *workspace, *output, *bias = NULL;
  net_scales scales;
  FILE* written;
  if (layer->scale == NULL || strcmp(layer->dtype, "f16") != 0) return 1;
  weights = file_of(package, layer->weights, "", &bytes);
  if (layer->open(weights, bytes, NET_HOST, &handle, why, sizeof why) != 0) {
    printf("%s is not opened: %s\n", layer->name, why);
    return 1;
  }
  scales.of_rows = (const float*)file_of(package, layer->scale, "", &scale_bytes);
  scales.of_tokens = (const float*)file_of(folder, layer->name, ".tokens", &token_bytes);
  input = file_of(folder, layer->name, ".x", &input_bytes);
  if (layer->has_bias) bias = file_of(folder, layer->name, ".bias", &bytes);
  if (scale_bytes != (size_t)layer->rows * sizeof(float) || token_bytes != (size_t)n * sizeof(float) ||
      input_bytes != (size_t)(n * layer->columns))
    return 1;
  if (layer->workspace_of_rows(handle, n, &needed) != 0) return 1;
  workspace = aligned_alloc(256, (needed / 256 + 1) * 256);
  output = aligned_alloc(256, (result_bytes / 256 + 1) * 256);
  /* Without its scales it is not launched. */
  if (layer->launch(handle, 1, input, bias, output, workspace, needed, NULL) == 0 ||
      layer->launch_rows(handle, 1, input, bias, output, workspace, needed) == 0)
    return 1;
  if (layer->launch_scaled_rows(handle, n, input, &scales, bias, output, workspace, needed) != 0) return 1;
  layer->close(handle);
  snprintf(path, sizeof path, "%s/%s.y", folder, layer->name);
  written = fopen(path, "wb");
  if (written == NULL || fwrite(output, 1, result_bytes, written) != result_bytes) return 1;
  fclose(written);
  free(output), free(workspace), free(input), free(weights), free(bias);
  free((void*)scales.of_rows), free((void*)scales.of_tokens);
  return 0;
}

int main(int count, char** arguments) {
  int i;
  if (count < 5) return 2;
  for (i = 4; i < count; ++i) {
    if (run(net_find(arguments[i], NET_HOST), arguments[1], arguments[2], atoll(arguments[3])) == 0) continue;
    printf("%s is wrong\n", arguments[i]);
    return 1;
  }
  return 0;
}
