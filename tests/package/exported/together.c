/* Two packages in one program, which runs on a machine without a driver. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"
#include "plain.h"
#include "read_file.h"

enum { n = 33 };

static float* numbers(size_t count) {
  float* data = (float*)aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
  size_t i;
  for (i = 0; i < count; ++i) data[i] = (float)((int)(i % 17) - 8);
  return data;
}

static int of_device(int status, const char* why) {
  if (status == 0) return 1;
  printf("%s: reference used\n", why);
  return 0;
}

int main(int count, char** arguments) {
  char why[200] = "";
  size_t bytes, i;
  void* weights = read_file(count > 1 ? arguments[1] : "", &bytes);
  plain_open_desc of_plain = PLAIN_OPEN_DESC;
  image_open_desc of_image = IMAGE_OPEN_DESC;
  plain* p = NULL;
  image* f = NULL;
  plain_args a;
  image_args b;
  double sum = 0;
  of_plain.weights = weights;
  of_plain.weights_bytes = bytes;
  of_plain.why = of_image.why = why;
  of_plain.why_bytes = of_image.why_bytes = sizeof why;
  of_device(plain_open(&of_plain, &p), why);
  of_device(image_open(&of_image, &f), why);
  memset(&a, 0, sizeof a);
  a.struct_size = sizeof a;
  a.n = n;
  a.b = numbers((size_t)PLAIN_COLUMNS * n);
  a.bias = numbers(PLAIN_ROWS);
  a.c = numbers((size_t)PLAIN_ROWS * n);
  a.alpha = 1;
  if (plain_reference(weights, bytes, &a) != PLAIN_OK) return 1;
  memset(&b, 0, sizeof b);
  b.struct_size = sizeof b;
  b.b = numbers(4 * 9 * 11);
  b.c = numbers(6 * 9 * 11);
  if (image_reference(NULL, 0, &b) != IMAGE_OK) return 1; /* its weights are in the code */
  for (i = 0; i < (size_t)PLAIN_ROWS * n; ++i) sum += ((float*)a.c)[i];
  for (i = 0; i < (size_t)6 * 9 * 11; ++i) sum += fabs((double)((float*)b.c)[i]);
  if (strstr(plain_manifest(), "\"us\"") == NULL || strstr(image_manifest(), "\"image\"") == NULL) return 1;
  plain_close(p);
  image_close(f);
  printf("sums add up to %g\n", sum);
  return sum > 1 && isfinite(sum) ? 0 : 1;
}
