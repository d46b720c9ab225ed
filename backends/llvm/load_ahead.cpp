#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Instructions.h>
#include <weft/backends/llvm/load_ahead.h>

#include <vector>

namespace weft::llvm_backend {
namespace {

/// Instructions in a row of which none writes memory or waits.
class Segment {
 public:
  void add(llvm::Instruction& instruction) {
    places_[&instruction] = 2 * count_++;
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load != nullptr && load->isSimple()) {
      loads_.push_back(load);
      anchors_.push_back(nullptr);
      return;
    }
    if (llvm::isa<llvm::GetElementPtrInst>(instruction) || llvm::isa<llvm::PHINode>(instruction)) return;
    // The first thing behind a load that can be arithmetic with its value.
    for (; anchored_ < anchors_.size(); ++anchored_) anchors_[anchored_] = &instruction;
  }

  void move(std::size_t distance) {
    for (std::size_t i = 0; i < loads_.size(); ++i) {
      llvm::Instruction* anchor = anchors_[i < distance ? 0 : i - distance];
      if (anchor == nullptr || places_.lookup(anchor) >= places_.lookup(loads_[i])) continue;
      const int before = places_.lookup(anchor);
      auto* address = llvm::dyn_cast<llvm::GetElementPtrInst>(loads_[i]->getPointerOperand());
      if (address != nullptr && comes_behind(address, before)) {
        bool free = true;
        for (const llvm::Value* operand : address->operands()) free = free && !comes_behind(operand, before);
        if (!free) continue;
        address->moveBefore(anchor);
        places_[address] = before - 1;
      } else if (comes_behind(loads_[i]->getPointerOperand(), before)) {
        continue;
      }
      loads_[i]->moveBefore(anchor);
    }
  }

 private:
  bool comes_behind(const llvm::Value* value, int place) const {
    const auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
    const auto found = instruction == nullptr ? places_.end() : places_.find(instruction);
    return found != places_.end() && found->second >= place;
  }

  llvm::DenseMap<const llvm::Instruction*, int> places_;  ///< even; odd for what was moved between two
  int count_ = 0;
  std::vector<llvm::LoadInst*> loads_;
  std::vector<llvm::Instruction*> anchors_;  ///< of each load
  std::size_t anchored_ = 0;                 ///< loads that have one
};

}  // namespace

void load_ahead(llvm::Module& module, unsigned distance) {
  if (distance == 0) return;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      std::vector<Segment> segments(1);
      for (llvm::Instruction& instruction : block) {
        if (instruction.mayWriteToMemory() || instruction.mayHaveSideEffects()) {
          segments.emplace_back();
        } else {
          segments.back().add(instruction);
        }
      }
      for (Segment& segment : segments) segment.move(distance);
    }
  }
}

}  // namespace weft::llvm_backend
