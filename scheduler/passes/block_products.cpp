#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/fragments.h>
#include <weft/scheduler/hardware/instructions/swmma.h>
#include <weft/scheduler/hardware/tensor_nest.h>
#include <weft/scheduler/ir/query.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/passes/block_products.h>

#include <algorithm>

namespace weft::passes {
namespace {

class BlockProduct {
 public:
  BlockProduct(const ir::TensorOperation& operation)
      : chain_(ir::chain_of(operation.meaning)),
        rows_(chain_.loops.at(0)),
        columns_(chain_.loops.at(1)),
        places_(chain_.loops.at(2)),
        store_(*chain_.core.as<ir::Store>()),
        fragments_{tensor_product(operation.instruction), swmma_block, swmma_block, rows_.tile,
                   columns_.tile},
        step_(operation.step) {
    const auto& product = *store_.value.as<ir::Binary>();
    const ir::Load* factors[] = {ir::loaded(product.left), ir::loaded(product.right)};
    const bool swapped = ir::uses(ir::load(factors[0]->buffer, factors[0]->indices), columns_.name);
    values_ = *factors[swapped ? 1 : 0];
    dense_ = *factors[swapped ? 0 : 1];
  }

  Stmt operator()() const {
    const auto tile = fragment("tile", swmma_right.registers());
    const Stmt load_tile = ir::execute({std::string(swmma_load_b), {all_of(tile)}, {}, place_of_tile()});
    const Expr width = places_.extent;
    const Stmt sparse = ir::if_then(width <= Expr(4), product(tile, 4), product(tile, 8));
    const Stmt multiply = ir::if_then(ir::equal(width, Expr(swmma_block)), product(tile, 16), sparse);
    return fragments_.over_threads(ir::allocate(tile, ir::block({load_tile, multiply})), step_);
  }

 private:
  ir::BufferRef fragment(const std::string& what, int registers) const {
    return ir::make_buffer(store_.buffer->name + "." + what, DType::i32, ir::Scope::registers,
                           ir::Access::read_write, {registers});
  }
  static ir::RegisterRange all_of(const ir::BufferRef& fragment) {
    return {fragment, {0}, static_cast<int>(*ir::integer_value(fragment->shape.front()))};
  }

  ir::RegisterRange accumulators() const {
    std::vector<Expr> place(store_.indices.begin(), store_.indices.end() - Fragments::dimensions);
    const std::vector<Expr> own = fragments_.begin_of(0, 0);
    place.insert(place.end(), own.begin(), own.end());
    return {store_.buffer, std::move(place), swmma_sums.registers()};
  }

  /// The first element of the block.
  Expr at_begin(const ir::Load& load) const {
    return ir::substitute(ir::load(load.buffer, load.indices), {{rows_.name, 0}, {places_.name, 0}});
  }

  /// A place's column in its block is stored; in a dense block, where there are such, it is the place itself.
  bool is_column_in_block(const Expr& e) const {
    const auto* load = e.as<ir::Load>();
    const auto* choice = e.as<ir::Select>();
    const auto* place = choice == nullptr ? nullptr : choice->when_true.as<ir::Variable>();
    return (load != nullptr && load->buffer->dtype == DType::u8) ||
           (place != nullptr && place->name == places_.name);
  }

  ir::Load offsets() const {
    const auto found = ir::find_all<ir::Load>(
        dense_.indices.front(), [](const ir::Load& load) { return load.buffer->dtype == DType::u8; });
    internal_check(!found.empty(), "the meaning of " + std::string(swmma_load_b) + " reads no offset");
    return *found.back();
  }

  /// Address, elements between rows, rows and columns that there are from there on.
  std::vector<Expr> place_of_tile() const {
    ir::Rewriter rewriter;
    rewriter.on_expr = [&](const Expr& e) { return is_column_in_block(e) ? Expr(0) : e; };
    const Expr row = rewriter(dense_.indices.front());
    internal_check(!ir::uses(row, places_.name), "the rows of a tile do not follow each other");
    const Expr column = ir::substitute(dense_.indices.back(), {{columns_.name, 0}});
    return {ir::load(dense_.buffer, {row, column}), dense_.buffer->strides.front(),
            dense_.buffer->shape.front() - row, dense_.buffer->shape.back() - column};
  }

  Stmt product(const ir::BufferRef& tile, int width) const {
    const auto block = fragment("block", swmma_left(width).registers());
    const Stmt load = ir::execute({swmma_load_a(width), {all_of(block)}, {}, {at_begin(values_)}});
    if (!is_sparse_width(width))
      return ir::allocate(
          block,
          ir::block(
              {load, ir::execute({swmma_mma(width), {accumulators()}, {all_of(block), all_of(tile)}, {}})}));
    const ir::Load stored = offsets();
    // Two offsets share a byte where their number is half that of the values.
    const bool has_pairs = !ir::same(stored.indices.front(), values_.indices.front());
    const auto columns = fragment("offset", 1);
    const Stmt load_columns =
        ir::execute({swmma_load_offset(width, has_pairs ? 4 : 8), {all_of(columns)}, {}, {at_begin(stored)}});
    const Stmt multiply =
        ir::execute({swmma_mma(width), {accumulators()}, {all_of(block), all_of(tile), all_of(columns)}, {}});
    return ir::allocate(block, ir::allocate(columns, ir::block({load, load_columns, multiply})));
  }

  ir::Chain chain_;
  ir::For rows_, columns_, places_;
  ir::Store store_;
  Fragments fragments_;
  int step_;
  ir::Load values_, dense_;
};

}  // namespace

Stmt lower_block_product(const ir::TensorOperation& operation) {
  return BlockProduct(operation)();
}

}  // namespace weft::passes
