#include <fmt/format.h>
#include <fmt/ranges.h>
#include <weft/scheduler/ir/simplify.h>
#include <weft/scheduler/limits/proof_places.h>
#include <weft/scheduler/limits/proofs.h>

#include <algorithm>

namespace weft {
namespace {

/// Z3 is asked at most so often of one program.
constexpr std::size_t most_questions = 400;

/// The ranges that loops of constant bounds give their variables.
ir::Ranges ranges_of(const proofs::Path& path) {
  ir::Ranges ranges;
  for (const ir::Expr& condition : path.conditions) {
    const auto* e = condition.as<ir::Binary>();
    if (e == nullptr) continue;
    const auto* above = e->right.as<ir::Variable>();
    const auto* below = e->left.as<ir::Variable>();
    if (e->op == ir::BinaryOperator::less_equal && above != nullptr) {
      if (const std::int64_t* least = ir::integer_value(e->left)) ranges[above->name].minimum = *least;
    }
    if (e->op == ir::BinaryOperator::less && below != nullptr) {
      if (const std::int64_t* end = ir::integer_value(e->right)) ranges[below->name].maximum = *end - 1;
    }
  }
  return ranges;
}

class Proving {
 public:
  Proving(const ir::Program& program, const Algorithm& algorithm, const SparseTensor* weights)
      : output_(algorithm.operands[algorithm.output.operand].name),
        places_(proofs::places_of(program)),
        facts_(proofs::facts_of(algorithm, weights, program)),
        prover_(facts_) {}

  std::vector<Proof> operator()() {
    if (!places_.complete)
      return {{Claim::inside, "the accesses of a program with thousands of them", ProofOutcome::unknown}};
    for (const proofs::InsideClaim& claim : places_.inside) inside(claim);
    stores();
    return std::move(found_);
  }

 private:
  bool may_ask() { return questions_++ < most_questions; }

  void inside(const proofs::InsideClaim& claim) {
    if (ir::always(claim.goal, ranges_of(claim.path)))
      found_.push_back({Claim::inside, claim.text, ProofOutcome::proved});
    else
      found_.push_back(may_ask() ? prover_.inside(claim) : Proof{Claim::inside, claim.text});
  }

  void stores() {
    std::vector<const proofs::StorePlace*> of_output;
    for (std::size_t i = 0; i < places_.stores.size(); ++i) {
      const proofs::StorePlace& store = places_.stores[i];
      if (store.buffer->name == output_) of_output.push_back(&store);
      for (std::size_t j = i; j < places_.stores.size(); ++j) {
        const proofs::StorePlace& other = places_.stores[j];
        if (other.buffer == store.buffer)
          found_.push_back(may_ask() ? prover_.apart(store, other) : Proof{Claim::written_once, store.text});
      }
    }
    if (!of_output.empty()) found_.push_back(prover_.whole(of_output));
  }

  std::string output_;
  proofs::Places places_;
  WeightFacts facts_;
  proofs::Prover prover_;
  std::vector<Proof> found_;
  std::size_t questions_ = 0;
};

const char* name_of(ProofOutcome outcome) {
  if (outcome == ProofOutcome::proved) return "proved";
  return outcome == ProofOutcome::refuted ? "refuted" : "unknown";
}

}  // namespace

std::vector<Proof> prove(const ir::Program& program, const Algorithm& algorithm, const SparseTensor* weights,
                         CallPlace place) {
  return user_call(place, [&] {
    if (!program.body.defined() || algorithm.operands.empty())
      throw UserError("proving what holds of a program", program.name,
                      program.body.defined() ? "an algorithm without operands" : "an empty program",
                      "the program of a schedule, and its algorithm");
    return Proving(program, algorithm, weights)();
  });
}

std::vector<Proof> prove(const Schedule& schedule, CallPlace place) {
  return user_call(place,
                   [&] { return prove(schedule.program(), schedule.algorithm(), schedule.weights()); });
}

std::string text_of(const Proof& proof) {
  const std::string place = proof.place;
  std::string text = std::string(name_of(proof.outcome)) + ": ";
  if (proof.claim == Claim::inside) text += place;
  if (proof.claim == Claim::written_once) text += place + " is written by one iteration";
  if (proof.claim == Claim::all_written) text += "every element of " + place + " is written";
  if (proof.outcome == ProofOutcome::refuted) {
    std::vector<std::string> values;
    for (const auto& [name, value] : proof.witness) values.push_back(fmt::format("{} = {}", name, value));
    text += fmt::format("; not at {}, where arrays hold what the rules of their formats leave open",
                        fmt::join(values, ", "));
  }
  return text;
}

std::string summary_of(const std::vector<Proof>& proofs) {
  const auto count = [&](ProofOutcome outcome, std::optional<Claim> claim = {}) {
    return std::ranges::count_if(proofs, [&](const Proof& proof) {
      return proof.outcome == outcome && (!claim.has_value() || proof.claim == *claim);
    });
  };
  return fmt::format(
      "{} indices inside, {} stores by one iteration each, {} outputs whole; {} refuted, {} unknown",
      count(ProofOutcome::proved, Claim::inside), count(ProofOutcome::proved, Claim::written_once),
      count(ProofOutcome::proved, Claim::all_written), count(ProofOutcome::refuted),
      count(ProofOutcome::unknown));
}

}  // namespace weft
