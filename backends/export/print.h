// The files of a package that are made for it; what is the same in all packages stands in templates/. For
// files of this folder.
#pragma once

#include <weft/backends/export/package.h>
#include <weft/backends/export/package_folder.h>

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::exporting {

/// Of templates/, by file name.
struct Template {
  std::string_view name;
  std::string_view text;
};
std::span<const Template> templates();

/// "@NAME@" and the like of a template. InternalError for a template that there is not and for words without
/// a value.
using Words = std::map<std::string, std::string>;
std::string filled(std::string_view name, const Words& words);

/// The words that all templates may use.
Words words_of(const Package& package);

std::string print_args_fields(const Package& package);
/// src/<name>_tables.c: operands, sizes, packings, kernels.
std::string print_tables(const Package& package);
/// src/<name>_image.c: machine code and PTX as bytes.
std::string print_image(const Package& package);
/// src/<name>_reference.c
std::string print_reference(const Package& package);
/// "96 * n": elements of all sums, which the reference has in double precision.
std::string sums_of(const Algorithm& algorithm);
/// src/<name>_<level>.S: all kernels of one level of processors.
std::string print_assembly(const Package& package, const TargetGroup& group);
/// What templates say of kernels for processors; in a package without, that there are none.
void add_cpu_words(const Package& package, Words& words);
/// What the table of kernels has of code for processors, behind all else.
std::string print_cpu_code(const Package& package, const TargetGroup& group, const Variant& variant);
/// What the table of targets has of the level of a processor, behind all else.
std::string print_cpu_level(const Package& package, const TargetGroup& group);
/// The reference as a kernel of the lowest level, and its row among the targets.
void add_reference_target(const Package& package, Words& words);
/// tests/<name>_golden.h: sizes, and some elements of their right results.
std::string print_golden(const Package& package);

/// What the templates of torch/ say.
Words torch_words(const Package& package);
/// tests/smoke.c
std::string print_smoke(const Package& package);
/// tests/<name>_smoke_cpu.h
std::string print_smoke_cpu(const Package& package);

/// "F16": an element type as safetensors call it.
std::string type_in_file(DType dtype);
/// The packed file, as the package makes and reads it.
std::string packed_file(const Package& package);
/// The hash of all arrays but the values, as the package's own code computes it.
std::string structure_of(const Package& package);
/// 64 hexadecimal digits.
std::string sha256_of(std::string_view bytes);

/// The files of a package that are the same for other weights where the code is.
std::vector<PackageFile> code_files(const Package& package);
/// With those that are not, and the manifest behind all.
std::vector<PackageFile> with_weights(std::vector<PackageFile> code, const Package& package);

/// What the package is, without the hashes of its files.
std::string print_manifest(const Package& package);

}  // namespace weft::exporting
