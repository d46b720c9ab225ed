/* A layer on whatever this machine has. The library needs nothing of CUDA to start: without a driver, open() answers
 * FFN_NO_DEVICE, and the reference computes on the processor. (What uses the device stands in ../cuda.) */
#include <ffn.h>

#include <stdio.h>
#include <stdlib.h>

static void *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  void *data = NULL;
  if (file == NULL) return NULL;
  fseek(file, 0, SEEK_END);
  *bytes = (size_t)ftell(file);
  rewind(file);
  data = malloc(*bytes);
  if (data != NULL && fread(data, 1, *bytes, file) != *bytes) *bytes = 0;
  fclose(file);
  return data;
}

int main(int count, char **arguments) {
  enum { n = 3 };
  static float b[FFN_COLUMNS * n], bias[FFN_ROWS], c[FFN_ROWS * n];
  size_t bytes = 0;
  void *weights = read_file(count > 1 ? arguments[1] : "ffn.safetensors", &bytes);
  char why[200] = "";
  ffn *handle = NULL;
  ffn_open_desc desc = FFN_OPEN_DESC;
  ffn_args args = {sizeof args};
  int32_t status;
  int i;

  desc.weights = weights;
  desc.weights_bytes = bytes;
  desc.why = why;
  desc.why_bytes = sizeof why;
  status = ffn_open(&desc, &handle);
  if (status == FFN_BAD_WEIGHTS || status == FFN_BAD_ARG) {
    fprintf(stderr, "%s\n", why);
    return 1;
  }
  if (status == FFN_NO_DEVICE) printf("no device, reference used (%s)\n", why);
  ffn_close(handle);

  for (i = 0; i < FFN_COLUMNS * n; ++i) b[i] = (float)(i % 5) - 2;
  for (i = 0; i < FFN_ROWS; ++i) bias[i] = 0.25f;
  args.n = n;
  args.b = b;
  args.bias = bias;
  args.c = c;
  status = ffn_reference(weights, bytes, &args);
  printf("%s; c[0] = %g\n", ffn_status(status), (double)c[0]);
  free(weights);
  return status;
}
