#include <weft/formats/io/choose.h>
#include <weft/formats/io/npy_member.h>
#include <weft/formats/io/npz.h>
#include <weft/formats/io/pickle.h>
#include <weft/formats/io/scipy_sparse.h>
#include <weft/formats/io/zip_archive.h>

namespace weft::io {
namespace {

constexpr std::string_view extension = ".npy";

ZipArchive open(Bytes bytes, const std::string& origin) {
  ZipArchive archive(bytes, origin);
  for (const auto& member : archive.members()) {
    if (member.name == "data.pkl" || member.name.ends_with("/data.pkl")) refuse_pickle(origin);
  }
  return archive;
}

/// The members as tensors, in the order of the archive. Types that weft cannot read are listed like the
/// others.
std::vector<Candidate> candidates_of(const ZipArchive& archive, const std::string& origin) {
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < archive.members().size(); ++i) {
    const std::string& file = archive.members()[i].name;
    if (!file.ends_with(extension)) {
      candidates.push_back({file, "(no .npy)", {}});
      continue;
    }
    Candidate candidate{file.substr(0, file.size() - extension.size()), {}, {}};
    std::string member = origin;
    member.append(":").append(candidate.name);
    std::tie(candidate.dtype, candidate.shape) = summarize_npy(archive.beginning(i, npy_header_room), member);
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

/// A member found by `choose`: its name for messages, and its bytes.
struct Chosen {
  std::string origin;
  std::vector<std::byte> bytes;
};

Chosen choose_member(const ZipArchive& archive, const std::string& origin, Wanted wanted,
                     const ReadOptions& options) {
  const std::vector<Candidate> candidates = candidates_of(archive, origin);
  const std::size_t index = choose(candidates, options.tensor, wanted, origin);
  const std::string member = origin + ":" + candidates[index].name;
  return {member, npy_member(archive, index, member, options.reinterpret_as)};
}

}  // namespace

WeightMatrix parse_npz_weights(Bytes bytes, const std::string& origin, const ReadOptions& options) {
  const ZipArchive archive = open(bytes, origin);
  if (options.tensor.empty() && is_scipy_sparse(archive))
    return parse_scipy_sparse(archive, origin, options.reinterpret_as);
  const Chosen member = choose_member(archive, origin, Wanted::weight, options);
  return parse_npy_weights(member.bytes, member.origin, options);
}

std::vector<ListedWeight> list_npz(Bytes bytes, const std::string& path) {
  const ZipArchive archive = open(bytes, path);
  if (is_scipy_sparse(archive)) return {summarize_scipy_sparse(archive, path)};
  const std::vector<Candidate> candidates = candidates_of(archive, path);
  std::vector<ListedWeight> weights;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const ZipArchive::Member& member = archive.members()[i];
    if (!member.name.ends_with(extension)) continue;
    const std::string origin = path + ":" + candidates[i].name;
    weights.push_back({.path = path,
                       .tensor = candidates[i].name,
                       .dtype = candidates[i].dtype,
                       .shape = candidates[i].shape,
                       .stored_as = "dense",
                       .bytes = member.packed,
                       .fault = fault_of_npy(archive.beginning(i, npy_header_room), member.size, origin)});
  }
  return weights;
}

Array parse_npz_array(Bytes bytes, const std::string& origin, const ReadOptions& options) {
  const ZipArchive archive = open(bytes, origin);
  const Chosen member = choose_member(archive, origin, Wanted::any_array, options);
  return parse_npy(member.bytes, member.origin, options);
}

}  // namespace weft::io
