/* Packing: the package's own pack makes the file that weft made, takes other rows, and names the row that is
 * wrong. */
#include <stdlib.h>
#include <string.h>

#include "contract.h"
#include "plain.h"

enum { rows = PLAIN_ROWS, columns = PLAIN_COLUMNS };

/* The dense matrix that a packed file stands for: unit vectors through the reference. */
static float* dense_of(const void* weights, size_t bytes) {
  float *dense = numbers((size_t)rows * columns, 1), *unit = numbers((size_t)columns * columns, 1);
  float *zero = numbers(rows, 1), *positive, *negative;
  size_t i;
  plain_args args;
  memset(zero, 0, rows * sizeof(float));
  positive = numbers((size_t)rows * columns, 1);
  negative = numbers((size_t)rows * columns, 1);
  for (i = 0; i < (size_t)columns * columns; ++i) unit[i] = i % (columns + 1) == 0 ? 1.0f : 0.0f;
  memset(&args, 0, sizeof args);
  args.struct_size = sizeof args;
  args.n = columns;
  args.b = unit;
  args.bias = zero;
  memset(positive, 0, (size_t)rows * columns * sizeof(float));
  memset(negative, 0, (size_t)rows * columns * sizeof(float));
  args.c = positive; /* relu(W), then relu(-W) */
  args.alpha = 1;
  expect("reference", PLAIN_OK, plain_reference(weights, bytes, &args));
  args.c = negative;
  args.alpha = -1;
  expect("reference", PLAIN_OK, plain_reference(weights, bytes, &args));
  for (i = 0; i < (size_t)rows * columns; ++i) dense[i] = positive[i] - negative[i];
  free(unit);
  free(zero);
  free(positive);
  free(negative);
  return dense;
}

static int64_t entries_of(const float* dense) {
  int64_t count = 0, i;
  for (i = 0; i < (int64_t)rows * columns; ++i) count += dense[i] != 0;
  return count;
}

static void check_errors(void* out, size_t bytes) {
  int64_t begin[rows + 1];
  int32_t column[rows];
  float values[rows];
  char why[200] = "";
  int i;
  for (i = 0; i < rows; ++i) {
    begin[i] = i;
    column[i] = i;
    values[i] = 1;
  }
  begin[rows] = rows;
  expect("rows of one entry", PLAIN_OK,
         plain_pack_csr(begin, column, values, NULL, 0, out, bytes, why, sizeof why));
  column[37] = columns;
  expect("a column too far", PLAIN_BAD_WEIGHTS,
         plain_pack_csr(begin, column, values, NULL, 0, out, bytes, why, sizeof why));
  expect_word("a column too far", "row 37", why);
  column[37] = 1;
  begin[38] = 36;
  expect("a row that ends before it begins", PLAIN_BAD_WEIGHTS,
         plain_pack_csr(begin, column, values, NULL, 0, out, bytes, why, sizeof why));
  expect_word("a row that ends before it begins", "row 37", why);
  begin[38] = 39;
  column[38] = 1;
  expect("a column twice", PLAIN_BAD_WEIGHTS,
         plain_pack_csr(begin, column, values, NULL, 0, out, bytes, why, sizeof why));
  expect_word("a column twice", "row 37", why);
  begin[38] = 38;
  column[37] = 37;
  column[38] = 38;
  expect("too little room", PLAIN_BAD_ARG,
         plain_pack_csr(begin, column, values, NULL, 0, out, 64, why, sizeof why));
  expect("nothing", PLAIN_BAD_ARG, plain_pack_csr(NULL, NULL, NULL, NULL, 0, out, bytes, why, sizeof why));
  expect("no size", PLAIN_BAD_ARG, plain_pack_size(-1, &bytes));
}

void check_packing(const void* weights, size_t bytes) {
  char why[200] = "";
  float *dense = dense_of(weights, bytes), *again;
  size_t size = 0, i;
  void* out;
  expect("size", PLAIN_OK, plain_pack_size(entries_of(dense), &size));
  expect("the size of the file", (long long)bytes, (long long)size);
  out = calloc(1, size + 100000);
  expect("pack", PLAIN_OK, plain_pack_dense(dense, NULL, 0, out, size, why, sizeof why));
  expect("the same file", 0, memcmp(out, weights, bytes));
  for (i = 0; i < (size_t)rows * columns; ++i) dense[i] = i % 3 == 0 ? (float)i : 0.0f;
  plain_pack_size(entries_of(dense), &size);
  expect("other rows", PLAIN_OK, plain_pack_dense(dense, NULL, 0, out, size, why, sizeof why));
  again = dense_of(out, size);
  expect("they come back", 0, memcmp(dense, again, (size_t)rows * columns * sizeof(float)));
  check_errors(out, size);
  free(again);
  free(dense);
  free(out);
}
