// Walks over trees by the list of children, and whether threads agree on a value.
#include <gtest/gtest.h>
#include <weft/scheduler/ir/agreement.h>
#include <weft/scheduler/ir/children.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>

namespace weft {
namespace {

using ir::Expr;
using ir::Stmt;

ir::BufferRef array(const char* name, ir::Scope scope) {
  return ir::make_buffer(name, DType::f32, scope, ir::Access::read_write, {Expr(8)});
}

Expr v(const char* name) {
  return ir::variable(name);
}

const ir::BufferRef memory = array("memory", ir::Scope::global), other = array("other", ir::Scope::global),
                    registers = array("registers", ir::Scope::registers);

/// A statement of every kind that has children; each names a variable of its own.
Stmt all_kinds() {
  ir::Execute instruction{
      "mma", {{registers, {v("result")}, 1}}, {{registers, {v("input")}, 1}}, {v("argument")}};
  ir::Copy copy{.destination = memory,
                .destination_begin = {v("to")},
                .source = other,
                .source_begin = {v("from")},
                .extents = {v("extent")},
                .inside = v("inside") < Expr(3)};
  const Stmt store = ir::store(memory, {v("place")}, ir::load(other, {v("read")}));
  const Stmt inner = ir::block({ir::execute(instruction), ir::copy(copy), ir::barrier(),
                                ir::wait_for_copies(0), ir::tensor_operation({"mma", store, -1, 0})});
  return ir::for_loop(
      {"i", v("begin"), v("count"), ir::LoopKind::serial, -1,
       ir::allocate(registers,
                    ir::let("x", v("value"), ir::if_then(v("condition") < Expr(1), inner, store)))});
}

TEST(Walks, MeetEveryChildOfEveryKind) {
  for (const char* name : {"result", "input", "argument", "to", "from", "extent", "inside", "place", "read",
                           "begin", "count", "value", "condition"}) {
    EXPECT_TRUE(ir::uses(all_kinds(), name)) << name;
    const Stmt changed = ir::substitute(all_kinds(), {{name, v("fresh")}});
    EXPECT_FALSE(ir::uses(changed, name)) << name;
    EXPECT_TRUE(ir::uses(changed, "fresh")) << name;
  }
  EXPECT_FALSE(ir::uses(all_kinds(), "absent"));
}

TEST(Walks, SubstituteOnceWhereTheResultIsSimplerThanWhatStoodThere) {
  const Expr three(3), four(4), x = v("x");
  EXPECT_EQ(ir::print(ir::substitute((x - three) % four, {{"x", x + three}})), "x % 4");
  EXPECT_EQ(ir::print(ir::substitute(x * v("one"), {{"x", x + three}, {"one", Expr(1)}})), "x + 3");
}

// A loop that is all that is left of a block, or of a choice, is not made longer once more.
TEST(Walks, RewriteOnceWhatIsLeftOfABlockOrAChoice) {
  const auto loop = [](const char* name) {
    return ir::for_loop({name, Expr(0), Expr(8), ir::LoopKind::serial, -1,
                         ir::store(memory, {v(name)}, ir::constant(DType::f32, 1))});
  };
  const auto without_stores_to_other = [](const Stmt& stmt) {
    return stmt.as<ir::Store>() != nullptr && stmt.as<ir::Store>()->buffer == other ? Stmt() : stmt;
  };
  ir::Rewriter rewriter;
  rewriter.on_expr = [](const Expr& e) { return e.as<ir::Variable>() != nullptr ? Expr(1) : e; };
  rewriter.on_stmt = [&](const Stmt& stmt) {
    const auto* found = stmt.as<ir::For>();
    if (found == nullptr) return without_stores_to_other(stmt);
    ir::For longer = *found;
    longer.extent = longer.extent + Expr(1);
    return ir::for_loop(std::move(longer));
  };
  const Stmt block = ir::block({loop("i"), ir::store(other, {Expr(0)}, ir::constant(DType::f32, 1))});
  EXPECT_EQ(ir::print(rewriter(block)).find("for i in 0 .. 9"), 0U) << ir::print(rewriter(block));
  const Stmt choice = ir::if_then(v("known") < Expr(3), loop("i"), loop("j"));
  EXPECT_EQ(ir::print(rewriter(choice)).find("for i in 0 .. 9"), 0U) << ir::print(rewriter(choice));

  int choices = 0;
  rewriter.on_stmt = [&](const Stmt& stmt) {
    choices += stmt.as<ir::If>() != nullptr ? 1 : 0;
    return stmt;
  };
  rewriter(ir::if_then(v("known") < Expr(3),
                       ir::if_then(ir::load(other, {Expr(0)}) < ir::constant(DType::f32, 1), loop("i"))));
  EXPECT_EQ(choices, 1);
}

TEST(Walks, ReplaceABufferWhereverItIsUsed) {
  const Stmt changed = ir::replace_buffer(all_kinds(), other, array("third", ir::Scope::global));
  EXPECT_FALSE(ir::uses(changed, other));
  EXPECT_EQ(ir::print(changed).find("other"), std::string::npos) << ir::print(changed);
  EXPECT_TRUE(ir::uses(changed, memory));
}

TEST(Walks, ShareWhatDoesNotChange) {
  const Stmt before = all_kinds();
  EXPECT_EQ(ir::substitute(before, {{"absent", v("fresh")}}).identity(), before.identity());
  const Stmt after = ir::substitute(before, {{"begin", v("fresh")}});
  EXPECT_NE(after.identity(), before.identity());
  EXPECT_EQ(after.as<ir::For>()->body.identity(), before.as<ir::For>()->body.identity());
}

bool agree(const Expr& expr, std::int64_t threads, bool on_reads = false) {
  return ir::agree(expr, {.agree_on = [](const std::string& name) { return name == "common"; },
                          .threads = threads,
                          .agree_on_reads = on_reads});
}

TEST(Agreement, FollowsFromWhatAValueIsMadeOf) {
  EXPECT_TRUE(agree(v("common") * Expr(3) + Expr(1), 0));
  EXPECT_FALSE(agree(v("common") + v("own"), 0));
  const Expr choice = ir::select(v("common") < Expr(3), v("common"), Expr(0));
  EXPECT_TRUE(agree(choice, 0));
  EXPECT_TRUE(agree(ir::call("block_x", DType::i64, {}), 0));
}

TEST(Agreement, OfThreadsDependsOnHowManyThereAre) {
  const Expr thread = ir::call("thread", DType::i64, {});
  EXPECT_FALSE(agree(thread, 0));
  EXPECT_FALSE(agree(thread, 32));
  EXPECT_TRUE(agree(thread, 1));
  EXPECT_TRUE(agree(thread / Expr(64), 32));
  EXPECT_FALSE(agree(thread / Expr(16), 32));
  EXPECT_FALSE(agree(thread / Expr(64), 0));
}

TEST(Agreement, OnReadsIsForTheCallerToSay) {
  const Expr read = ir::load(memory, {v("common")});
  EXPECT_FALSE(agree(read, 0));
  EXPECT_TRUE(agree(read, 0, true));
  EXPECT_FALSE(agree(ir::load(memory, {v("own")}), 0, true));
}

}  // namespace
}  // namespace weft
