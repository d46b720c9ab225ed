#include <fmt/format.h>
#include <weft/formats/io/choose.h>
#include <weft/formats/io/npy_member.h>
#include <weft/formats/io/npz.h>
#include <weft/formats/io/pickle.h>
#include <weft/formats/io/scipy_sparse.h>
#include <weft/formats/io/zip_archive.h>

namespace weft::io {
namespace {

constexpr std::string_view extension = ".npy";
std::string name_without_extension(const std::string& member) {
  return member.ends_with(extension) ? member.substr(0, member.size() - extension.size()) : member;
}

ZipArchive open(Bytes bytes, const std::string& origin) {
  ZipArchive archive(bytes, origin);
  for (const auto& member : archive.members()) {
    if (member.name == "data.pkl" || member.name.ends_with("/data.pkl")) refuse_pickle(origin);
  }
  return archive;
}

/// The dense members, and where they are among all.
struct Members {
  std::vector<Candidate> candidates;
  std::vector<std::size_t> index;
};

Members dense_members(const ZipArchive& archive, const std::string& origin, const std::string& name,
                      std::optional<DType> reinterpret_as) {
  Members members;
  for (std::size_t i = 0; i < archive.members().size(); ++i) {
    const std::string member = name_without_extension(archive.members()[i].name);
    // The header of a member that is not asked for need not be one that can be read.
    if (!name.empty() && member != name) {
      members.candidates.push_back({member, "?", {}});
    } else {
      const NpyHeader header =
          parse_npy_header(archive.beginning(i, npy_header_room), origin + ":" + member, reinterpret_as);
      members.candidates.push_back({member, std::string(name_of(header.dtype)), header.shape});
    }
    members.index.push_back(i);
  }
  return members;
}

}  // namespace

WeightMatrix parse_npz_weights(Bytes bytes, const std::string& origin, const std::string& name,
                               std::optional<DType> reinterpret_as) {
  const ZipArchive archive = open(bytes, origin);
  if (name.empty() && is_scipy_sparse(archive)) {
    return parse_scipy_sparse(archive, origin, reinterpret_as);
  }
  const Members members = dense_members(archive, origin, name, reinterpret_as);
  const std::size_t chosen = choose(members.candidates, name, Wanted::weight, origin);
  const std::string member = origin + ":" + members.candidates[chosen].name;
  return parse_npy_weights(npy_member(archive, members.index[chosen], member, reinterpret_as), member,
                           reinterpret_as);
}

Array parse_npz_array(Bytes bytes, const std::string& origin, const std::string& name,
                      std::optional<DType> reinterpret_as) {
  const ZipArchive archive = open(bytes, origin);
  const Members members = dense_members(archive, origin, name, reinterpret_as);
  const std::size_t chosen = choose(members.candidates, name, Wanted::any_array, origin);
  const std::string member = origin + ":" + members.candidates[chosen].name;
  return parse_npy(npy_member(archive, members.index[chosen], member, reinterpret_as), member,
                   reinterpret_as);
}

}  // namespace weft::io
