/* A contestant that multiplies f32 on a processor, right or in one of the ways in which one can be wrong:
   BEHAVIOUR. On a CUDA device, which is one of tests whose memory the host has, it gives the work to the
   stream as a function of the host's. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/search/measure/contestant_interface.h>

enum behaviour {
  right,
  features_last,
  wrong,
  lazy,
  tired,
  refusing,
  told,
  failing,
  failing_later,
  silent,
  writing_x,
  writing_beside,
  beside_the_stream,
  of_another_interface,
  unnamed,
  crashing,
  rough
};
static const enum behaviour behaviour = BEHAVIOUR;
enum { LAUNCHES = 1005 }; /* more than there are before all take turns */

struct product {
  int64_t rows, inner, columns;
  int64_t* row_begin;
  int32_t* column;
  float *values, *dense;
  const float* x;
  float* y;
  int launches;
};

static int refused(const char* reason, char* why, size_t why_bytes) {
  snprintf(why, why_bytes, "%s", reason);
  return 1;
}

const struct weft_contestant_description* weft_contestant_describe(void) {
  static struct weft_contestant_description description = {WEFT_CONTESTANT_INTERFACE, NULL, "1.5", NULL};
  description.name = behaviour == unnamed ? "" : NAME;
  if (behaviour == of_another_interface) description.interface_version = 77;
  if (behaviour == rough) description.arithmetic = "tf32";
  return &description;
}

static int told_problem(const struct weft_contestant_problem* p, char* why, size_t why_bytes) {
  const struct weft_contestant_convolution none = {0}, *c = p->convolution != NULL ? p->convolution : &none;
  snprintf(why, why_bytes,
           "device %d, %s to %s, %d x %d x %d, %d stored, groups of %d rows of %d, blocks of %d, %d images "
           "%d -> %d in %d groups, "
           "%dx%d by %dx%d, pad %dx%d, stride %dx%d, dilation %dx%d: %dx%d",
           (int)p->device, p->element, p->result, (int)p->rows, (int)p->inner, (int)p->columns,
           (int)p->stored, (int)p->group_rows, (int)p->group_of, (int)p->block, (int)c->images,
           (int)c->channels, (int)c->filters, (int)c->groups, (int)c->image[0], (int)c->image[1],
           (int)c->filter[0], (int)c->filter[1], (int)c->pad[0], (int)c->pad[1], (int)c->stride[0],
           (int)c->stride[1], (int)c->dilation[0], (int)c->dilation[1], (int)c->output[0], (int)c->output[1]);
  return 1;
}

int weft_contestant_takes(const struct weft_contestant_problem* problem,
                          struct weft_contestant_wishes* wishes, char* why, size_t why_bytes) {
  if (behaviour == refusing) return refused("only on\n a Tuesday", why, why_bytes);
  if (behaviour == told) return told_problem(problem, why, why_bytes);
  if (strcmp(problem->element, "f32") != 0 || strcmp(problem->result, "f32") != 0 ||
      *problem->after_sum != '\0')
    return refused("it multiplies f32 alone", why, why_bytes);
  if (problem->convolution != NULL) {
    const struct weft_contestant_convolution* c = problem->convolution;
    if (c->filter[0] * c->filter[1] != 1 || c->stride[0] * c->stride[1] != 1 || c->groups != 1 ||
        c->images != 1)
      return refused("filters of one pixel over one image alone", why, why_bytes);
  }
  wishes->x_features_last = wishes->y_features_last = wishes->dense = behaviour == features_last;
  return 0;
}

static void* copied(const void* from, size_t bytes) {
  void* to = malloc(bytes + 1);
  if (to != NULL) memcpy(to, from, bytes);
  return to;
}

/* Whether the rows of each group keep the same columns; without groups there is no order. */
static int has_groups(const struct weft_contestant_problem* p, const struct weft_contestant_operands* o) {
  if (p->group_rows == 0) return o->row_order == NULL;
  if (o->row_order == NULL) return 0;
  for (int64_t i = 0; i < p->rows; ++i) {
    const int32_t row = o->row_order[i], first = o->row_order[i / p->group_rows * p->group_rows];
    const int64_t kept = o->row_begin[row + 1] - o->row_begin[row];
    if (kept != o->row_begin[first + 1] - o->row_begin[first]) return 0;
    if (memcmp(o->column + o->row_begin[row], o->column + o->row_begin[first],
               (size_t)kept * sizeof(int32_t)) != 0)
      return 0;
  }
  return 1;
}

int weft_contestant_prepare(const struct weft_contestant_problem* problem,
                            const struct weft_contestant_operands* operands, void** prepared, char* why,
                            size_t why_bytes) {
  const size_t stored = (size_t)problem->stored;
  struct product* product;
  if (!has_groups(problem, operands)) return refused("rows of a group differ", why, why_bytes);
  product = calloc(1, sizeof *product);
  if (behaviour == failing || product == NULL) {
    free(product);
    snprintf(why, why_bytes, "no kernel of 7 warps");
    return 42;
  }
  product->rows = problem->rows;
  product->inner = problem->inner;
  product->columns = problem->columns;
  product->row_begin = copied(operands->row_begin, ((size_t)problem->rows + 1) * sizeof(int64_t));
  product->column = copied(operands->column, stored * sizeof(int32_t));
  product->values = copied(operands->values, stored * sizeof(float));
  if (operands->dense != NULL)
    product->dense = copied(operands->dense, (size_t)(problem->rows * problem->inner) * sizeof(float));
  product->x = operands->x;
  product->y = operands->y;
  *prepared = product;
  return 0;
}

static float element_of_product(const struct product* p, int64_t m, int64_t n) {
  double sum = 0;
  if (behaviour == features_last) {
    for (int64_t k = 0; k < p->inner; ++k) sum += (double)p->dense[m * p->inner + k] * p->x[n * p->inner + k];
  } else {
    for (int64_t i = p->row_begin[m]; i < p->row_begin[m + 1]; ++i)
      sum += (double)p->values[i] * p->x[p->column[i] * p->columns + n];
  }
  if (behaviour == rough) sum *= 1.0005;
  return (float)sum;
}

static void multiply(void* prepared) {
  struct product* p = prepared;
  const int64_t rows = behaviour == lazy ? p->rows - 1 : p->rows;
  if (behaviour == crashing) abort();
  ++p->launches;
  if (behaviour == tired && p->launches > 1) return;
  for (int64_t m = 0; m < rows; ++m) {
    for (int64_t n = 0; n < p->columns; ++n)
      p->y[behaviour == features_last ? n * p->rows + m : m * p->columns + n] = element_of_product(p, m, n);
  }
  if (behaviour == wrong) p->y[p->rows * p->columns - 1] += 1000;
  if (behaviour == writing_beside) p->y[p->rows * p->columns] = 0;
  if (behaviour == writing_x) ((float*)p->x)[0] += 1;
}

int weft_contestant_launch(void* prepared, void* stream, char* why, size_t why_bytes) {
  struct product* p = prepared;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (behaviour == failing_later && p->launches > LAUNCHES)
    return refused("that is too many", why, why_bytes);
  if (behaviour == silent && p->launches > 3) return 5;
  if (stream != NULL && behaviour != beside_the_stream) {
    int (*launch)(void*, void (*)(void*), void*) = NULL;
    if (driver != NULL) *(void**)&launch = dlsym(driver, "cuLaunchHostFunc");
    if (launch == NULL) return refused("the driver has no functions of the host's", why, why_bytes);
    return launch(stream, multiply, prepared);
  }
  multiply(prepared);
  return 0;
}

void weft_contestant_release(void* prepared) {
  struct product* p = prepared;
  free(p->row_begin);
  free(p->column);
  free(p->values);
  free(p->dense);
  free(p);
}
