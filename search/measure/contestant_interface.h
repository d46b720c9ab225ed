/* What a shared library has to have that takes part in `weft bench --contestant FOLDER`: five functions in
   plain C, and the structures that they are given. docs/contestants.md shows how they are called, and a whole
   contestant.

   This file needs nothing else of weft and may be copied. The libraries that it is written for are somebody's
   own: weft opens them, and has none. */
#ifndef WEFT_CONTESTANT_INTERFACE_H
#define WEFT_CONTESTANT_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Another number is another interface: a library of the one is refused by a weft of the other. */
#define WEFT_CONTESTANT_INTERFACE 1u

#if defined(__GNUC__)
#define WEFT_CONTESTANT_EXPORT __attribute__((visibility("default")))
#else
#define WEFT_CONTESTANT_EXPORT
#endif

/* As `device` of a problem. */
#define WEFT_CONTESTANT_PROCESSOR (-1)

/* Who it is. Its texts belong to the library and are there as long as it is loaded. */
struct weft_contestant_description {
  uint32_t interface_version; /* WEFT_CONTESTANT_INTERFACE */
  const char* name;    /* in the table, behind "contestant": at most 40 printable characters, none a quote */
  const char* version; /* of the library, as its records shall have it; NULL or empty: it says none */
  /* How it computes. NULL or empty: with the elements as they are, sums in f32. "tf32": elements of f32 are
     rounded to those of TF32 tensor cores; its results may then differ by as much, and the table says so. */
  const char* arithmetic;
};

/* Weights [filters, channels / groups, filter height, filter width] over images. Pairs: height, then width.
 */
struct weft_contestant_convolution {
  int64_t images, channels, filters, groups;
  int64_t image[2], filter[2], pad[2], stride[2], dilation[2];
  int64_t output[2]; /* pixels of a result */
};

/* Y = W X: W [rows, inner] has zeros, X [inner, columns] and Y [rows, columns] have not. Of a convolution W
   is the matrix [filters, channels / groups * filter height * filter width], X are its images and Y its
   results. */
struct weft_contestant_problem {
  int32_t device;      /* a CUDA device's number, or WEFT_CONTESTANT_PROCESSOR */
  int32_t threads;     /* on a processor, how many it may compute with, the caller's among them; else 0 */
  const char* element; /* of W and X: "f32", "f16", "bf16", "e4m3", "e5m2", "i8"; others may come */
  const char* result;  /* of Y: "f32", "f16", "bf16"; others may come */
  /* What is done to the sum. "": nothing, which is all that is measured. Whoever cannot do it refuses. */
  const char* after_sum;
  int64_t rows, inner, columns;
  int64_t stored; /* entries of W that are not pruned */
  /* The structure of W; 0 is none, and W without any is unstructured. */
  int64_t group_rows; /* V rows keep the same columns, or the same columns of each group_of */
  int64_t group_of;   /* M of V:2:M, or 4 of 2:4, where group_rows is 0 */
  int64_t block;      /* edge of blocks that are dense inside */
  const struct weft_contestant_convolution* convolution; /* NULL of a product */
};

/* How it wants its operands; zeros are what it gets unasked. */
struct weft_contestant_wishes {
  /* 0: X is [inner, columns], or images [images, channels, height, width].
     1: X is [columns, inner], or [images, height, width, channels]. */
  int32_t x_features_last;
  int32_t y_features_last; /* the same of Y, with rows, or filters, for inner and channels */
  int32_t dense;           /* 1: `dense` of its operands is there */
};

/* W in host memory, until weft_contestant_prepare() returns; X and Y in the memory of the device, aligned to
   64 bytes, until weft_contestant_release() is called, and the same for each launch. W as CSR: the entries of
   row m are those from row_begin[m] to row_begin[m + 1], columns ascending. */
struct weft_contestant_operands {
  const int64_t* row_begin; /* rows + 1 */
  const int32_t* column;    /* stored */
  const void* values;       /* stored, of type `element` */
  const void* dense;        /* [rows, inner] with the zeros; NULL where it was not wished for */
  const int32_t* row_order; /* rows: each next group_rows of them are a group; NULL where W has none */
  const void* x;            /* must not be written; on the device before each launch */
  void* y;                  /* every element has to be written by each launch */
};

/* Each of the five is called by one thread at a time, and the last four in this order. A problem and what it
   points at stay until then. `why` is room for a sentence, of `why_bytes` bytes with its zero, which says why
   a function does not return 0. A function must not throw. */

/* Never NULL. */
WEFT_CONTESTANT_EXPORT const struct weft_contestant_description* weft_contestant_describe(void);

/* Whether it computes this problem: 0, and then what it wishes for, or else why not. */
WEFT_CONTESTANT_EXPORT int weft_contestant_takes(const struct weft_contestant_problem* problem,
                                                 struct weft_contestant_wishes* wishes, char* why,
                                                 size_t why_bytes);

/* Makes ready what the launches need, in *prepared: nothing of this is timed. Several may be ready at the
   same time. Where it does not return 0, nothing is released. */
WEFT_CONTESTANT_EXPORT int weft_contestant_prepare(const struct weft_contestant_problem* problem,
                                                   const struct weft_contestant_operands* operands,
                                                   void** prepared, char* why, size_t why_bytes);

/* Computes Y. On a processor Y is complete when it returns. On a CUDA device the work is given to `stream`, a
   cudaStream_t or CUstream of the device's primary context, and to no other: launches are recorded as a CUDA
   graph, so after the first one of a `prepared` it must not wait, allocate or compile. */
WEFT_CONTESTANT_EXPORT int weft_contestant_launch(void* prepared, void* stream, char* why, size_t why_bytes);

/* Once for each `prepared`; its launches are done. */
WEFT_CONTESTANT_EXPORT void weft_contestant_release(void* prepared);

#ifdef __cplusplus
}
#endif

#endif
