/* A contestant for `weft bench --contestant`: Y = W X on a processor, row by row of W in CSR, in plain C. Put
   your own kernel in place of launch() and what it needs into prepare(). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/search/measure/contestant_interface.h>

/* Weights are lent until prepare() returns, X and Y until release() is called. */
struct prepared {
  int64_t rows, columns;
  int64_t* row_begin;
  int32_t* column;
  float* values;
  const float* x;
  float* y;
};

static int because(const char* reason, char* why, size_t why_bytes) {
  snprintf(why, why_bytes, "%s", reason);
  return 1;
}

const struct weft_contestant_description* weft_contestant_describe(void) {
  static const struct weft_contestant_description description = {WEFT_CONTESTANT_INTERFACE, "rows in C",
                                                                 "1.0", NULL};
  return &description;
}

int weft_contestant_takes(const struct weft_contestant_problem* problem,
                          struct weft_contestant_wishes* wishes, char* why, size_t why_bytes) {
  (void)wishes; /* X as [inner, columns], Y as [rows, columns], W as CSR */
  if (problem->device != WEFT_CONTESTANT_PROCESSOR) return because("it is for processors", why, why_bytes);
  if (problem->convolution != NULL) return because("it computes products, no convolutions", why, why_bytes);
  if (*problem->after_sum != '\0') return because("nothing follows its sum", why, why_bytes);
  if (strcmp(problem->element, "f32") != 0) return because("it is for elements of f32", why, why_bytes);
  return 0;
}

static void* copy_of(const void* from, size_t bytes) {
  void* to = malloc(bytes > 0 ? bytes : 1);
  if (to != NULL) memcpy(to, from, bytes);
  return to;
}

void weft_contestant_release(void* prepared) {
  struct prepared* p = prepared;
  free(p->row_begin);
  free(p->column);
  free(p->values);
  free(p);
}

int weft_contestant_prepare(const struct weft_contestant_problem* problem,
                            const struct weft_contestant_operands* operands, void** prepared, char* why,
                            size_t why_bytes) {
  const size_t stored = (size_t)problem->stored;
  struct prepared* p = calloc(1, sizeof *p);
  if (p == NULL) return because("no memory", why, why_bytes);
  p->rows = problem->rows;
  p->columns = problem->columns;
  p->row_begin = copy_of(operands->row_begin, ((size_t)problem->rows + 1) * sizeof(int64_t));
  p->column = copy_of(operands->column, stored * sizeof(int32_t));
  p->values = copy_of(operands->values, stored * sizeof(float));
  p->x = operands->x;
  p->y = operands->y;
  if (p->row_begin == NULL || p->column == NULL || p->values == NULL) {
    weft_contestant_release(p);
    return because("no memory", why, why_bytes);
  }
  *prepared = p;
  return 0;
}

int weft_contestant_launch(void* prepared, void* stream, char* why, size_t why_bytes) {
  const struct prepared* p = prepared;
  (void)stream, (void)why, (void)why_bytes;
  for (int64_t m = 0; m < p->rows; ++m) {
    float* y = p->y + m * p->columns;
    memset(y, 0, (size_t)p->columns * sizeof(float));
    for (int64_t i = p->row_begin[m]; i < p->row_begin[m + 1]; ++i) {
      const float* x = p->x + p->column[i] * p->columns;
      for (int64_t n = 0; n < p->columns; ++n) y[n] += p->values[i] * x[n];
    }
  }
  return 0;
}
