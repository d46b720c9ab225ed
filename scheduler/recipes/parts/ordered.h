// Products whose operands lie in memory as frameworks have them, X [n, k] and Y [n, m], and images of nchw
// and nhwc, where kernels of GPUs want columns of the product beside one another.
#pragma once

#include <weft/scheduler/program/schedule.h>
#include <weft/scheduler/recipes/parts/product.h>

#include <memory>
#include <string>
#include <vector>

namespace weft {

/// The operands of a product C[m, n] = sum of A[m, k] B[k, n] that a recipe's kernel does not take as they
/// lie: matrices [n, k] of the input and [n, m] of the output. Of one column they lie beside one another
/// either way, and a few results the kernel writes one by one (docs/measurements/choice.md).
std::vector<std::string> operands_to_transpose(const Algorithm& algorithm);

/// Whether a convolution has so many images, one behind the other, that recipes for tensor cores have them
/// innermost, where the pixels of all images that a weight multiplies lie beside one another.
bool transposes_images(const Algorithm& algorithm);

/// Whether the images of such a convolution fill warps where the pixels of a line do not, and its channels
/// lie innermost, as lanes do not read them: then kernels of unstructured weights have images innermost, too.
bool images_fill_warps(const Algorithm& algorithm);

/// Whether so many elements of a byte or two come in runs of 16 bytes: rows of results as reorder_writeback
/// writes them, or what stitch reads along k.
bool fills_runs(DType dtype, const Extent& elements);

/// Whether reorder_writeback writes the results of a product, Y [n, m], in runs of rows, which the format
/// does not name.
bool writes_runs_of_rows(const Algorithm& algorithm, const SparseTensor& weights);

/// Whether tensor cores take X [n, k] as it lies: of two of four, whose groups keep every column where it is,
/// tiles have lines along k (stitch), in whole runs of 16 bytes.
bool reads_runs_of_the_sum(const Algorithm& algorithm, const SparseTensor& weights);

/// Whether X [n, k] can be gathered as it lies, element by element, into tiles with lines along k, of weights
/// that list their columns one by one: where elements have two bytes, and where they have one, of X [k, n]
/// too, which a launch brings in that order.
bool can_gather_elements(const Algorithm& algorithm, const Format& format);

/// Whether tiles of weights in the format can have the lines along k that tensor cores ask of elements of a
/// byte.
bool can_multiply_bytes(const Algorithm& algorithm, const Format& format);

/// The operands of such a product that a CPU's kernel has transposed, however few results there are: its
/// vectors are of columns.
std::vector<std::string> operands_across(const Algorithm& algorithm);

/// The operands of a convolution whose channels lie beside one another, [n, h, w, c], which a
/// CPU's kernel has as [c, n, h, w]: its vectors are of pixels.
std::vector<std::string> images_across(const Algorithm& algorithm);

/// The product as a CPU's kernel sees it then: B [k, n] and C [m, n]; images with their channels outermost.
Algorithm in_kernel_order(Algorithm algorithm);

/// The loops of gathered_product() in the order in which their elements lie once operands are transposed.
GatheredProduct ordered_product(const Algorithm& algorithm);

/// The operands of a product whose rows are no multiple of four bytes and lie as the kernel has them: what
/// recipes would copy to shared memory element by element, they have aligned first; and the result where
/// there is much of it. Words are faster read where they lie (docs/measurements/choice.md). Of a single
/// column also [1, k], whose elements rows of its transposed copy begin with.
std::vector<std::string> operands_to_align(const Algorithm& algorithm);

/// Whether the dense input is transposed or aligned, or of bytes, which lie in runs along k: rows of what
/// kernels read begin at multiples of 16 bytes.
bool copies_input(const Algorithm& algorithm);

/// What recipes do first.
enum class OperandCopies : std::uint8_t {
  transposed,  ///< transpose what lies the other way round
  of_tiles,    ///< and align what is left of operands whose rows are no whole words, but leave results to
               ///< the kernel that it writes in runs of rows
};

/// What recipes begin with: a schedule that copies such operands, and else has no steps; on a CPU those that
/// lie across; but for one that the recipe's own copies turn or gather, `as_it_lies`.
Schedule ordered_schedule(Algorithm algorithm, std::shared_ptr<const SparseTensor> weights,
                          const Target& target, OperandCopies copies = OperandCopies::transposed,
                          const std::string& as_it_lies = {});

}  // namespace weft
