// Claims as questions to Z3: a claim is proved where its opposite cannot be. Each question has a context and
// a budget of steps of its own, so answers are the same everywhere.
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/instructions.h>
#include <weft/scheduler/ir/print.h>
#include <weft/scheduler/ir/visit.h>
#include <weft/scheduler/limits/proof_places.h>

#if WEFT_WITH_Z3
#include <weft/scheduler/limits/resources_z3_expressions.h>
#include <weft/scheduler/limits/z3_context.h>
#endif

#include <algorithm>
#include <set>

namespace weft::proofs {

#if WEFT_WITH_Z3
namespace {

constexpr unsigned effort_of_claim = 300'000;  ///< steps of Z3's own: some tenths of a second
/// Products of several sizes can keep Z3 for minutes within one step of its own.
constexpr unsigned longest_milliseconds = 5'000;

/// One run of the program's loops; a second one has variables of its own, and the same sizes and weights.
struct Run {
  std::string mark;
  std::set<std::string> own;             ///< loops and names, which differ between runs
  std::vector<std::string> blocks = {};  ///< those of the loops that are bound to blocks
};

class ProofQuestion {
 public:
  explicit ProofQuestion(const WeightFacts& facts) : facts_(facts), solver_(context_) {
    z3::params parameters(context_);
    parameters.set("rlimit", effort_of_claim);
    parameters.set("timeout", longest_milliseconds);
    solver_.set(parameters);
    for (const Expr& condition : facts.conditions) assume(condition, Run());
  }

  void assume(const Expr& condition, const Run& run) { solver_.add(truth(condition, run)); }
  void assume(const Path& path, const Run& run) {
    for (const Expr& condition : path.conditions) assume(condition, run);
  }
  void add(const z3::expr& condition) { solver_.add(condition); }

  z3::expr truth(const Expr& condition, const Run& run) {
    return in(run, [&](Z3Expressions& expressions) { return expressions.truth(condition); });
  }
  z3::expr integer(const Expr& expr, const Run& run) {
    return in(run, [&](Z3Expressions& expressions) { return expressions.integer(expr); });
  }
  z3::expr variable(const std::string& name) {
    const auto found = variables_.try_emplace(name, context_.int_const(name.c_str()));
    return found.first->second;
  }

  /// Proved where what was added cannot hold.
  Proof answer(Claim claim, const std::string& place) {
    Proof proof{claim, place};
    try {
      const z3::check_result result = solver_.check();
      if (result == z3::unsat) proof.outcome = ProofOutcome::proved;
      if (result == z3::sat) {
        proof.outcome = ProofOutcome::refuted;
        proof.witness = witness();
      }
    } catch (const z3::exception&) {
      proof.outcome = ProofOutcome::unknown;  // it throws when its budget ends in the wrong place
    }
    return proof;
  }

 private:
  template <class Ask>
  z3::expr in(const Run& run, const Ask& ask) {
    const auto of_variable = [&](const std::string& name) {
      return variable(run.own.contains(name) ? name + run.mark : name);
    };
    Z3Expressions expressions(
        context_, solver_, of_variable, [&](const ir::Load& load) { return element(load, run); },
        [&](const ir::Call& call) { return answer_of(call, run); });
    return ask(expressions);
  }

  /// What an instruction answers is what it means, or may be anything; but of the blocks that arrive at one
  /// place, one alone is the last.
  z3::expr answer_of(const ir::Call& call, const Run& run) {
    const Instruction& row = instruction(call.instruction);
    if (row.below > 0) return bounded(call, row.below, run);
    if (row.meaning != nullptr && row.result == DType::i64) return integer(row.meaning(call.arguments), run);
    Answer own{call.instruction, {}, run, variable("answer " + std::to_string(unknown_++))};
    for (const Expr& argument : call.arguments) {
      const auto* place = argument.as<ir::Load>();
      if (place == nullptr) continue;
      for (const Expr& index : place->indices) own.place.push_back(integer(index, run));
    }
    for (const Answer& other : answers_) {
      if (own.instruction != last_arrival || other.instruction != last_arrival ||
          other.place.size() != own.place.size())
        continue;
      z3::expr one_place = context_.bool_val(true), other_block = context_.bool_val(false);
      for (std::size_t i = 0; i < own.place.size(); ++i)
        one_place = one_place && own.place[i] == other.place[i];
      for (const std::string& loop : run.blocks)
        other_block = other_block || variable(loop + run.mark) != variable(loop + other.run.mark);
      solver_.add(z3::implies(one_place && other_block, own.value == 0 || other.value == 0));
    }
    answers_.push_back(own);
    return own.value;
  }

  /// Of a long meaning: the same for the same operands, and its bounds.
  z3::expr bounded(const ir::Call& call, std::int64_t below, const Run& run) {
    z3::expr_vector operands(context_);
    z3::sort_vector sorts(context_);
    for (const Expr& argument : call.arguments) {
      operands.push_back(integer(argument, run));
      sorts.push_back(context_.int_sort());
    }
    const z3::expr value = context_.function(call.instruction.c_str(), sorts, context_.int_sort())(operands);
    solver_.add(value >= 0 && value < context_.int_val(below));
    return value;
  }

  z3::func_decl function(const std::string& buffer) {
    return context_.function(buffer.c_str(), context_.int_sort(), context_.int_sort());
  }

  /// What a memory holds is an integer of which only facts are known.
  z3::expr element(const ir::Load& load, const Run& run) {
    const std::string& name = load.buffer->name;
    if (load.indices.size() != 1) return variable("element " + std::to_string(unknown_++));
    const z3::expr index = integer(load.indices.front(), run);
    const z3::expr value = function(name)(index);
    if (const auto fact = facts_.arrays.find(name); fact != facts_.arrays.end())
      add_fact(name, fact->second, index, value);
    for (const auto& [buffer, fact] : facts_.arrays) {
      if (name == inverse_of(buffer)) add_inverse(buffer, fact, index, value);
    }
    return value;
  }

  void add_fact(const std::string& name, const ArrayFact& fact, const z3::expr& index,
                const z3::expr& value) {
    const z3::expr count = integer(fact.count, Run());
    const z3::expr exists = index >= 0 && index < count;
    solver_.add(z3::implies(exists, integer(fact.least, {}) <= value && value <= integer(fact.most, {})));
    if (fact.increases) {
      solver_.add(z3::implies(exists && index + 1 < count, value <= function(name)(index + 1)));
      solver_.add(z3::implies(exists && index >= 1, function(name)(index - 1) <= value));
    }
    if (fact.buckets) add_buckets(*fact.buckets, integer(fact.most, {}), index, value);
    if (!fact.is_permutation) return;
    for (const auto& [other, other_value] : met_[name])
      solver_.add(z3::implies(exists && other >= 0 && other < count && value >= 0 && value == other_value,
                              index == other));
    met_[name].emplace_back(index, value);
  }

  void add_buckets(const BucketFact& fact, const z3::expr& places, const z3::expr& index,
                   const z3::expr& begin) {
    const z3::expr exists = index >= 0 && index < integer(fact.blocks, {});
    const z3::expr width = function(fact.width)(index);
    const z3::expr end = begin + integer(fact.rows, {}) * width;
    solver_.add(z3::implies(exists, end <= places));
    solver_.add(z3::implies(exists && width != integer(fact.extent, {}), end <= integer(fact.numbered, {})));
  }

  /// Every number of a permutation has a place.
  void add_inverse(const std::string& buffer, const ArrayFact& fact, const z3::expr& number,
                   const z3::expr& place) {
    internal_check(fact.whole.has_value(), "the inverse of what is no permutation");
    solver_.add(
        z3::implies(number >= 0 && number < integer(*fact.whole, {}),
                    place >= 0 && place < integer(fact.count, Run()) && function(buffer)(place) == number));
  }

  std::map<std::string, std::int64_t> witness() {
    std::map<std::string, std::int64_t> result;
    const z3::model model = solver_.get_model();
    for (const auto& [name, constant] : variables_) {
      std::int64_t value = 0;
      if (model.eval(constant, true).is_numeral_i64(value)) result[name] = value;
    }
    return result;
  }

  /// What an instruction in a condition answers.
  struct Answer {
    std::string instruction;
    std::vector<z3::expr> place;  ///< in memory
    Run run;
    z3::expr value;
  };

  const WeightFacts& facts_;
  Z3Context holder_;
  z3::context& context_ = *holder_;
  z3::solver solver_;
  std::map<std::string, z3::expr> variables_;
  std::map<std::string, std::vector<std::pair<z3::expr, z3::expr>>> met_;  ///< what was met of permutations
  std::vector<Answer> answers_;
  int unknown_ = 0;
};

Run run_of(const Path& path, std::string mark) {
  Run run{std::move(mark), {}, {}};
  for (const ir::For& loop : path.loops) {
    run.own.insert(loop.name);
    if (ir::is_block(loop.kind)) run.blocks.push_back(loop.name);
  }
  for (const auto& [name, value] : path.lets) run.own.insert(name);
  return run;
}

}  // namespace

Proof Prover::inside(const InsideClaim& claim) const {
  ProofQuestion question(facts_);
  question.assume(claim.path, {});
  question.add(!question.truth(claim.goal, {}));
  return question.answer(Claim::inside, claim.text);
}

Proof Prover::apart(const StorePlace& one, const StorePlace& other) const {
  ProofQuestion question(facts_);
  const Run first = run_of(one.path, "");
  const Run second = run_of(other.path, "'");
  question.assume(one.path, first);
  question.assume(other.path, second);
  for (std::size_t i = 0; i < one.indices.size(); ++i)
    question.add(question.integer(one.indices[i], first) == question.integer(other.indices[i], second));
  if (&one == &other) {
    z3::expr differ = question.variable("one") != question.variable("one");
    for (const ir::For& loop : one.path.loops)
      differ = differ || question.variable(loop.name) != question.variable(loop.name + "'");
    question.add(differ);
  }
  return question.answer(Claim::written_once, one.text);
}

Proof Prover::whole(const std::vector<const StorePlace*>& stores) const {
  ProofQuestion question(facts_);
  const ir::Buffer& buffer = *stores.front()->buffer;
  std::vector<Expr> target;
  for (std::size_t i = 0; i < buffer.shape.size(); ++i) {
    target.push_back(ir::variable("element." + std::to_string(i)));
    question.assume(ir::integer(0) <= target.back(), {});
    question.assume(target.back() < buffer.shape[i], {});
  }
  for (const StorePlace* store : stores) {
    const auto iteration = iteration_of(*store, target, facts_);
    Expr writes = ir::boolean(true);
    for (const Expr& condition : store->path.conditions)
      writes = writes && ir::substitute(condition, iteration);
    for (std::size_t i = 0; i < target.size(); ++i)
      writes = writes && ir::equal(ir::substitute(store->indices[i], iteration), target[i]);
    question.add(!question.truth(writes, {}));
  }
  Proof proof = question.answer(Claim::all_written, buffer.name);
  // The iteration was a guess at how the element is reached: that it fails refutes nothing.
  if (proof.outcome == ProofOutcome::refuted) proof.outcome = ProofOutcome::unknown;
  return proof;
}

#else

Proof Prover::inside(const InsideClaim& claim) const {
  return {Claim::inside, claim.text};
}
Proof Prover::apart(const StorePlace& one, const StorePlace&) const {
  return {Claim::written_once, one.text};
}
Proof Prover::whole(const std::vector<const StorePlace*>& stores) const {
  return {Claim::all_written, stores.front()->buffer->name};
}

#endif

}  // namespace weft::proofs
