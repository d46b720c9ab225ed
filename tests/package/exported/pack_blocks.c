/* Packing of blocks that are as wide as each asks for: the package makes the file that weft made, puts new
 * values into its places, and refuses an entry that has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"
#include "read_file.h"

enum { rows = BLOCKS_ROWS, columns = BLOCKS_COLUMNS, one = 0x3c00 /* as f16 */ };

static void expect(const char* what, long long wanted, long long found) {
  if (wanted == found) return;
  printf("%s: %lld, and not %lld\n", what, found, wanted);
  exit(1);
}

static uint16_t* halves(size_t count) {
  const size_t bytes = (count * sizeof(uint16_t) + 63) / 64 * 64;
  uint16_t* data = (uint16_t*)aligned_alloc(64, bytes);
  if (data == NULL) exit(2);
  memset(data, 0, bytes);
  return data;
}

/* The dense matrix that a packed file stands for: unit vectors through the reference. */
static uint16_t* dense_of(const void* weights, size_t bytes) {
  uint16_t *unit = halves((size_t)columns * columns), *dense = halves((size_t)rows * columns);
  blocks_args args;
  size_t i;
  for (i = 0; i < columns; ++i) unit[i * (columns + 1)] = one;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.n = columns;
  args.b = unit;
  args.c = dense;
  expect("reference", BLOCKS_OK, blocks_reference(weights, bytes, &args));
  free(unit);
  return dense;
}

int main(int count, char** arguments) {
  size_t bytes, size = 0, i;
  char why[200] = "";
  void* weights = read_file(count > 1 ? arguments[1] : "", &bytes);
  uint16_t *dense = dense_of(weights, bytes), *again;
  void* out;
  int stored = 0;
  for (i = 0; i < (size_t)rows * columns; ++i) stored += dense[i] != 0;
  if (stored < rows) return 1;
  expect("size", BLOCKS_OK, blocks_pack_size(stored, &size));
  expect("the size of the file", (long long)bytes, (long long)size);
  out = malloc(size);
  expect("pack", BLOCKS_OK, blocks_pack_dense(dense, weights, bytes, out, size, why, sizeof why));
  expect("the same file", 0, memcmp(out, weights, bytes));
  for (i = 0; i < (size_t)rows * columns; ++i) dense[i] = (uint16_t)(dense[i] != 0 ? one + i % 1000 : 0);
  expect("new values", BLOCKS_OK, blocks_pack_dense(dense, weights, bytes, out, size, why, sizeof why));
  again = dense_of(out, size);
  expect("they come back", 0, memcmp(dense, again, (size_t)rows * columns * sizeof(uint16_t)));
  for (i = 0; i < columns; ++i) dense[(size_t)37 * columns + i] = one;
  expect("entries without a place", BLOCKS_BAD_WEIGHTS,
         blocks_pack_dense(dense, weights, bytes, out, size, why, sizeof why));
  if (strstr(why, "row 37") == NULL) return 1;
  free(again);
  free(dense);
  free(out);
  free(weights);
  return 0;
}
