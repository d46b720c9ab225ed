// What packages have beside others where kernels of theirs are for processors: assembly, and the words of
// templates that say nothing elsewhere.
#include <fmt/format.h>
#include <weft/backends/export/c_text.h>
#include <weft/backends/export/print.h>
#include <weft/dsl/errors.h>
#include <weft/scheduler/hardware/processor_level.h>

#include <algorithm>
#include <array>
#include <vector>

namespace weft::exporting {
namespace {

/// An architecture as C sees it.
struct Architecture {
  std::string_view name;       ///< as ProcessorLevel has it
  std::string_view word;       ///< in its macro: FFN_X86_64(here, elsewhere)
  std::string_view condition;  ///< for the preprocessor: whether code is made for it that the assembly fits
  std::string_view level;      ///< the template of level_of_processor()
};
constexpr std::array architectures{
    Architecture{"x86-64", "X86_64", "defined(__x86_64__) && defined(__LP64__) && defined(__ELF__)",
                 "processor_x86_64.c"},
    Architecture{"aarch64", "AARCH64", "defined(__AARCH64EL__) && defined(__LP64__) && defined(__ELF__)",
                 "processor_aarch64.c"},
};

const Architecture& architecture_of(const TargetGroup& group) {
  const ProcessorLevel* level = processor_level(group.target->name);
  internal_check(level != nullptr, group.target->name + " is no level of processors");
  const auto* const row = std::ranges::find(architectures, level->architecture, &Architecture::name);
  internal_check(row != architectures.end(), "C has no name for " + group.target->name);
  return *row;
}

/// Words that are nothing in a package for GPUs alone, with the text of one for processors: of templates, or
/// in place.
struct CpuWord {
  const char* word;
  const char* text;
};
constexpr CpuWord words_in_place[] = {
    {"CPU_KERNEL_FIELDS",
     "  @NAME@_code *code; /* of a kernel for a processor; null for the reference, too */\n"
     "  size_t scratch_bytes; /* of its local arrays, and of those of each thread of a parallel loop */\n"
     "  size_t thread_bytes;\n"},
    {"CPU_TARGET_FIELDS",
     "  int level; /* 3 for x86-64-v3, 0 for the reference, @NAME@_elsewhere for another machine's "
     "processors;\n"
     "              * -1 for a GPU, in place of whose `sm` this stands */\n"},
    {"CPU_HANDLE_FIELDS",
     "  int on_cpu; /* for this machine's processor; of what stands above, `target` and `tensor` are used "
     "*/\n"
     "  unsigned char *cpu_memory;\n"
     "  @NAME@_view view; /* of the weights in it, for the reference */\n"
     "  @NAME@_parallel *parallel;\n"
     "  void *parallel_ctx;\n"
     "  int threads;\n"},
    {"CPU_FUNCTIONS",
     "/* open() for this machine's processor: with the kernels of one target, or of -1, the best that it "
     "has.\n"
     " * Without a view, the weights in the code. */\n"
     "@UPPER@_HIDDEN int32_t @NAME@_open_cpu(const @NAME@_open_desc *desc, const @NAME@_view *view, int "
     "target,\n"
     "                                       struct @NAME@ **handle);\n"
     "/* Of a launch, behind its workspaces. */\n"
     "@UPPER@_HIDDEN size_t @NAME@_scratch_bytes(const struct @NAME@ *handle, const @NAME@_kernel *kernel);\n"
     "@UPPER@_HIDDEN int32_t @NAME@_launch_cpu(const struct @NAME@ *handle, const @NAME@_args *args,\n"
     "                                         const @NAME@_kernel *kernel, const @NAME@_shape *shape,\n"
     "                                         void *workspace);\n"},
    {"CPU_CLOSE", "  free(handle->cpu_memory);\n"},
    {"CPU_PLAN", "  if (handle->on_cpu) p->workspace_bytes += @NAME@_scratch_bytes(handle, p->kernel);\n"},
    {"CPU_LAUNCH",
     "  if (handle->on_cpu) return @NAME@_launch_cpu(handle, args, p.kernel, &p.shape, workspace);\n"},
    {"SMOKE_CPU_INCLUDE", "#include \"@NAME@_smoke_cpu.h\"\n\n"},
    {"SMOKE_CPU", "      smoke_levels(&golden_sizes[s], arrays, bytes);\n"},
};

std::vector<const TargetGroup*> levels_of(const Package& package) {
  std::vector<const TargetGroup*> levels;
  for (const TargetGroup& group : package.targets)
    if (group.is_cpu()) levels.push_back(&group);
  return levels;
}

std::string level_names(const Package& package) {
  std::string text;
  for (const TargetGroup* level : levels_of(package))
    text += (text.empty() ? "" : " and ") + level->target->name;
  return text;
}

/// Those of the levels that the package has, in the order of the table.
std::vector<const Architecture*> architectures_of(const Package& package) {
  std::vector<const Architecture*> found;
  for (const Architecture& each : architectures) {
    if (std::ranges::any_of(levels_of(package),
                            [&](const TargetGroup* level) { return &architecture_of(*level) == &each; }))
      found.push_back(&each);
  }
  return found;
}

/// FFN_X86_64(here, elsewhere) and its like.
std::string macros_of_architectures(const Package& package) {
  std::string text;
  for (const Architecture* each : architectures_of(package))
    text += fmt::format(
        "#if {0}\n#define {1}_{2}(here, elsewhere) here\n#else\n#define {1}_{2}(here, elsewhere) elsewhere\n"
        "#endif\n",
        each->condition, package.upper, each->word);
  return text;
}

/// level_of_processor(), which is 0 on machines that the package has no code for.
std::string level_of_processor(const Package& package, const Words& words) {
  std::string text;
  for (const Architecture* each : architectures_of(package))
    text += fmt::format("#{} {}_{}(1, 0)\n{}", text.empty() ? "if" : "elif", package.upper, each->word,
                        filled(each->level, words));
  return text + "#else\nstatic int level_of_processor(void) { return 0; }\n#endif\n";
}

/// The text in place of the words that it has, all of which are known.
std::string filled_in_place(std::string text, const Words& words) {
  for (const char* word : {"NAME", "UPPER"}) {
    const std::string what = fmt::format("@{}@", word);
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos;)
      text.replace(at, what.size(), words.at(word));
  }
  return text;
}

void add_words_of_gpus(const Package& package, Words& words) {
  for (const CpuWord& each : words_in_place) words[each.word] = "";
  for (const char* word :
       {"CPU_DECLARATIONS", "CPU_TYPES", "CPU_OPEN", "CPU_SOURCES", "README_CPU", "SMOKE_ON_DEVICE"})
    words[word] = "";
  words["LANGUAGES"] = "C";
  words["DEVICE_NOTE"] = "-1: that of the current context, else device 0";
  words["SOURCES_OF_CC"] = "src/*.c";
  words["SMOKE_ELSEWHERE"] = "reference used";
  words["ARRAYS_ARE"] = "device memory (host memory for reference())";
  words["OPEN_NOTE"] =
      fmt::format("{}_NO_DEVICE: use {}_reference() on host arrays", package.upper, package.name);
  words["LAUNCH_LIMITS"] =
      "What `open` allocates belongs to\n"
      "one device; `launch` allocates nothing and waits for nothing, so it may stand in a CUDA graph.";
  words["OTHERS_RUN"] = "other devices run the PTX, those without a driver the reference";
  words["README_OVERLAP"] = package.overlaps() ? filled("readme_overlap.md", words) : "";
  words["README_CUDA"] = package.has_gpu() ? filled("readme_cuda.md", words) : "";
}

/// Text of a comment of C on one line, which cannot end it.
std::string in_comment(std::string text) {
  std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
  for (std::size_t at = 0; (at = text.find("*/", at)) != std::string::npos;) text.insert(at + 1, " ");
  return text;
}

std::string heading_of(const Package& package, const Variant& variant) {
  std::string text = package.size.empty() ? "/* For its one size.\n"
                                          : fmt::format("/* {}: {}.\n", package.size, variant.range.text());
  text += " * Its schedule:\n";
  for (const Step& step : variant.kernel->schedule().steps()) text += " *   " + in_comment(step.cpp()) + "\n";
  return text + " */\n";
}

void add_cpu_sources(const Package& package, Words& words) {
  words["LANGUAGES"] = "C ASM";
  words["SOURCES_OF_CC"] = "src/*.c src/*.S";
  words["CPU_SOURCES"] = fmt::format(" src/{}_cpu.c", package.name);
  for (const TargetGroup* level : levels_of(package))
    words["CPU_SOURCES"] += fmt::format(" src/{}_{}.S", package.name, level->symbol());
}

/// Who has a package for processors alone, has nothing of devices.
void add_host_words(const Package& package, Words& words) {
  const std::string host = package.upper + "_HOST";
  const bool alone = !package.has_gpu();
  words["DEVICE_NOTE"] =
      alone ? fmt::format("-1 or {}: this machine's processor", host)
            : fmt::format("-1: that of the current context, else device 0; {}: this processor", host);
  words["OTHERS_RUN"] = alone ? "other processors run the reference"
                              : "other devices run the PTX, other processors the reference";
  words["SMOKE_ELSEWHERE"] = "on the processor";
  words["ARRAYS_ARE"] =
      alone ? "host memory" : fmt::format("device memory (host memory for reference() and {})", host);
  if (alone) {
    words["OPEN_NOTE"] = "on this machine's processor";
    words["LAUNCH_LIMITS"] = "`launch` allocates nothing.";
  }
  words["SMOKE_ON_DEVICE"] = alone ? " && !handle->on_cpu" : "";
  words["CPU_OPEN"] = fmt::format(
      "  if (desc->device == {0}{1})\n"
      "    return {2}_open_cpu(desc, {3} || desc->weights != NULL ? &view : NULL, -1, handle);\n",
      host, alone ? " || desc->device == -1" : "", package.name, package.needs_weights ? "1" : "0");
}

}  // namespace

void add_cpu_words(const Package& package, Words& words) {
  add_words_of_gpus(package, words);
  if (!package.has_cpu()) return;
  words["PROCESSORS"] = level_names(package);
  for (const CpuWord& each : words_in_place) words[each.word] = filled_in_place(each.text, words);
  words["CPU_DECLARATIONS"] = filled("cpu_declarations.h", words);
  words["ARCHITECTURES"] = macros_of_architectures(package);
  words["CPU_TYPES"] = filled("cpu_types.h", words);
  words["LEVEL_OF_PROCESSOR"] = level_of_processor(package, words);
  words["README_CPU"] = filled("readme_cpu.md", words);
  add_cpu_sources(package, words);
  add_host_words(package, words);
}

std::string print_assembly(const Package& package, const TargetGroup& group) {
  std::string text = fmt::format(
      "/* The kernels of {0} for {1}: `{2}`\n"
      " * Made by weft {3}. SPDX-License-Identifier: {4} */\n"
      "#if {5}\n",
      package.name, group.target->name, in_comment(package.algorithm.text()), words_of(package).at("VERSION"),
      package.options.spdx, architecture_of(group).condition);
  for (const Variant& variant : group.variants)
    text += "\n" + heading_of(package, variant) + variant.assembly->text;
  return text +
         "#endif\n\n"
         "/* The stack is no code. */\n"
         "#if defined(__ELF__)\n\t.section\t.note.GNU-stack,\"\",%progbits\n#endif\n";
}

std::string print_cpu_code(const Package& package, const TargetGroup& group, const Variant& variant) {
  if (!package.has_cpu()) return "";
  if (!variant.assembly) return ", NULL, 0, 0";
  return fmt::format(", {}_{}({}_{}, NULL), {}, {}", package.upper, architecture_of(group).word, package.name,
                     variant.symbol, variant.assembly->scratch_bytes, variant.assembly->worker_scratch_bytes);
}

std::string print_cpu_level(const Package& package, const TargetGroup& group) {
  if (!package.has_cpu()) return "";
  if (!group.is_cpu()) return fmt::format(", {}", group.level());
  return fmt::format(", {}_{}({}, {}_elsewhere)", package.upper, architecture_of(group).word, group.level(),
                     package.name);
}

void add_reference_target(const Package& package, Words& words) {
  words["SUM_COUNT"] = sums_of(package.algorithm);
  words["KERNELS"] += filled("tables_reference.c", words);
  words["TARGET_ROWS"] += "    {\"reference\", 0, 0, 1, kernels_reference, choose_reference, 0},\n";
}

}  // namespace weft::exporting
