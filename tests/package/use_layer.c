/* A library that weft_add_kernel made: C, without weft. */
#include <layer.h>

#include <stdio.h>
#include <string.h>

int main(void) {
  enum { n = 5 };
  float b[LAYER_COLUMNS * n], c[LAYER_ROWS * n];
  float sum = 0;
  int i;
  layer_args args;
  for (i = 0; i < LAYER_COLUMNS * n; ++i) b[i] = (float)(i % 7) - 3;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.n = n;
  args.b = b;
  args.c = c;
  if (layer_reference(NULL, 0, &args) != LAYER_OK) return 1;
  for (i = 0; i < LAYER_ROWS * n; ++i) sum += c[i];
  printf("layer: %g, licence %s\n", (double)sum, strstr(layer_manifest(), "MIT") != NULL ? "MIT" : "missing");
  return LAYER_ROWS == 24 && sum > 0 && strstr(layer_manifest(), "MIT") != NULL ? 0 : 1;
}
