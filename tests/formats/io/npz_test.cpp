#include <formats/io/expect_refused.h>
#include <formats/io/make_files.h>
#include <gmock/gmock.h>
#include <weft/formats/io/npz.h>

#include <limits>

namespace weft {
namespace {

using testing::bytes_of;
using testing::elements;
using ::testing::ElementsAre;
using testing::expect_refused;
using testing::npy;
using testing::zip;
using testing::ZipMember;
using Members = std::vector<ZipMember>;

WeightMatrix weights(const std::string& file, const std::string& name = {}, std::optional<DType> as = {}) {
  WeightMatrix matrix =
      io::parse_npz_weights(bytes_of(file), "a.npz", {.tensor = name, .reinterpret_as = as});
  matrix.check();
  return matrix;
}

ZipMember member(const std::string& name, const std::string& content) {
  return {name + ".npy", content};
}
template <class T>
ZipMember vector(const std::string& name, const std::string& descr, const std::vector<T>& values) {
  return member(name, npy(descr, "(" + std::to_string(values.size()) + ",)", elements(values)));
}
ZipMember floats(const std::string& name, const std::vector<float>& values) {
  return vector(name, "<f4", values);
}
ZipMember narrow(const std::string& name, const std::vector<std::int32_t>& values) {
  return vector(name, "<i4", values);
}
ZipMember wide(const std::string& name, const std::vector<std::int64_t>& values) {
  return vector(name, "<i8", values);
}

Members sparse(const std::string& layout, const std::vector<std::int64_t>& shape, Members more) {
  more.insert(more.begin(), {member("format", npy("|S3", "()", layout)), wide("shape", shape)});
  return more;
}

std::vector<double> dense(const Members& members) {
  const Array array = to_dense(weights(zip(members)));
  std::vector<double> values;
  for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(array.get(i));
  return values;
}

TEST(Npz, DenseMembers) {
  const std::string matrix = npy("<f4", "(2, 2)", elements<float>({1, 0, 0, 2}));
  const std::string bias = npy("<f4", "(2,)", elements<float>({5, 6}));
  const std::string both = zip({member("w", matrix), member("b", bias)});
  EXPECT_EQ(weights(both).stored(), 2);
  EXPECT_EQ(weights(both).origin, "a.npz:w");
  EXPECT_EQ(weights(both, "b").columns, 2);
  EXPECT_THAT(io::parse_npz_array(bytes_of(both), "a.npz", {.tensor = "b"}).as<float>(), ElementsAre(5, 6));
  expect_refused([&] { weights(both, "x"); }, {"no tensor named \"x\"", "\"w\"", "\"b\""});
  expect_refused([&] { io::parse_npz_array(bytes_of(both), "a.npz"); }, {"2 tensors", "\"w\" <f4 [2, 2]"});
  const std::string two = zip({member("w", matrix), member("v", matrix)});
  expect_refused([&] { weights(two); }, {"2 tensors of two or more dimensions", "\"w\" <f4 [2, 2]", "\"v\""});
}

TEST(Npz, MembersThatCannotBeReadAreListedOnly) {
  const std::string file = zip({member("names", npy("<U3", "(1, 1)", std::string(12, 'x'))),
                                {"readme.txt", "hello"},
                                vector<std::uint16_t>("bits", "<u2", {0x3F80}),
                                floats("b", {1})});
  EXPECT_THAT(weights(file, "b").values.as<float>(), ElementsAre(1));
  EXPECT_EQ(weights(file, "bits", DType::bf16).values.get(0), 1);
  expect_refused([&] { weights(file, "names"); }, {"a.npz:names", "\"<U3\""});
  expect_refused([&] { weights(file, "x"); }, {"\"names\" <U3 [1, 1]", "\"bits\" <u2 [1]", "\"readme.txt\""});
}

TEST(Npz, CompressedRowsUnsortedAndDuplicated) {
  EXPECT_THAT(dense(sparse("csr", {2, 3},
                           {floats("data", {1, 2, 4, 8}), narrow("indices", {2, 0, 2, 1}),
                            narrow("indptr", {0, 3, 4})})),
              ElementsAre(2, 0, 5, 0, 8, 0));
  EXPECT_THAT(dense(sparse("csr", {2, 3},
                           {floats("data", {1, 2}), wide("indices", {2, 0}), wide("indptr", {0, 0, 2})})),
              ElementsAre(0, 0, 0, 2, 0, 1));
}

TEST(Npz, CompressedColumns) {
  EXPECT_THAT(dense(sparse(
                  "csc", {2, 3},
                  {floats("data", {1, 2, 3}), narrow("indices", {1, 0, 1}), narrow("indptr", {0, 1, 1, 3})})),
              ElementsAre(0, 0, 2, 1, 0, 3));
}

TEST(Npz, Blocks) {
  const std::string blocks = npy("<f4", "(2, 1, 2)", elements<float>({1, 2, 0, 4}));
  const Members members =
      sparse("bsr", {2, 4}, {member("data", blocks), narrow("indices", {1, 0}), narrow("indptr", {0, 1, 2})});
  EXPECT_THAT(dense(members), ElementsAre(0, 0, 1, 2, 0, 4, 0, 0));
  EXPECT_EQ(weights(zip(members)).stored(), 4);  // the zero inside the block is stored
}

TEST(Npz, Coordinates) {
  EXPECT_THAT(dense(sparse("coo", {2, 2},
                           {floats("data", {1, 2, 3}), narrow("row", {1, 0, 1}), narrow("col", {0, 1, 0})})),
              ElementsAre(0, 2, 4, 0));
  const std::string coordinates = npy("<i8", "(3, 2)", elements<std::int64_t>({1, 0, 1, 0, 0, 2}));
  const Members members = sparse("coo", {2, 2, 3}, {floats("data", {5, 7}), member("coords", coordinates)});
  EXPECT_THAT(dense(members), ElementsAre(0, 0, 7, 0, 0, 0, 0, 0, 0, 5, 0, 0));
  EXPECT_THAT(weights(zip(members)).shape, ElementsAre(2, 2, 3));
}

TEST(Npz, Diagonals) {
  const std::string data = npy("<f4", "(2, 3)", elements<float>({1, 2, 3, 9, 5, -0.0F}));
  EXPECT_THAT(dense(sparse("dia", {3, 3}, {member("data", data), narrow("offsets", {-1, 1})})),
              ElementsAre(0, 5, 0, 1, 0, 0, 0, 2, 0));
  EXPECT_EQ(weights(zip(sparse("dia", {3, 3}, {member("data", data), narrow("offsets", {-1, 1})}))).stored(),
            3);
}

TEST(Npz, FormatAsUnicodeAndHalvesAsIntegers) {
  Members members{member("format", npy("<U3", "()", std::string("c\0\0\0s\0\0\0r\0\0\0", 12))),
                  wide("shape", {1, 2}), vector<std::uint16_t>("data", "<u2", {0x3F80}),
                  narrow("indices", {1}), narrow("indptr", {0, 1})};
  EXPECT_EQ(weights(zip(members), {}, DType::bf16).values.dtype(), DType::bf16);
  EXPECT_EQ(weights(zip(members), {}, DType::bf16).values.get(0), 1);
}

TEST(Npz, RefusesSparseParts) {
  const auto csr = [](const std::vector<std::int32_t>& indices, const std::vector<std::int32_t>& indptr) {
    return [=] {
      weights(zip(sparse("csr", {2, 3},
                         {floats("data", {1, 2}), narrow("indices", indices), narrow("indptr", indptr)})));
    };
  };
  expect_refused(csr({0, 3}, {0, 1, 2}), {"member \"indices\", element 1", "3", "0 to 2"});
  expect_refused(csr({0, -1}, {0, 1, 2}), {"member \"indices\", element 1", "-1"});
  expect_refused(csr({0}, {0, 1, 2}), {"member \"indices\"", "1 elements", "2 elements"});
  expect_refused(csr({0, 1}, {0, 2}), {"member \"indptr\"", "2 elements", "3 elements"});
  expect_refused(csr({0, 1}, {1, 1, 2}), {"member \"indptr\"", "1 and 1 at elements 0 and 1"});
  expect_refused(csr({0, 1}, {0, 2, 1}), {"member \"indptr\"", "2 and 1 at elements 1 and 2"});
  expect_refused(csr({0, 1}, {0, 1, 9}), {"member \"indptr\"", "1 and 9"});
  expect_refused(csr({0, 1}, {0, 1, 1}), {"member \"indptr\"", "1 at the end", "2"});
  const auto with = [](const std::string& layout, Members more) {
    return [=] { weights(zip(sparse(layout, {2, 4}, more))); };
  };
  expect_refused(with("csr", {floats("data", {1})}), {"no member \"indices\""});
  expect_refused(with("lil", {floats("data", {1})}),
                 {"member \"format\"", "\"lil\"", "csr, csc, bsr, coo or dia"});
  expect_refused(
      with("csr", {floats("data", {1, std::numeric_limits<float>::quiet_NaN()}), narrow("indices", {0, 1})}),
      {"member \"data\", element [1]", "NaN"});
  const std::string odd = npy("<f4", "(1, 2, 3)", elements<float>({1, 2, 3, 4, 5, 6}));
  expect_refused(with("bsr", {member("data", odd)}), {"blocks of 2 x 3", "divide 2 x 4"});
  const std::string diagonal = npy("<f4", "(2, 1)", elements<float>({1, 2}));
  expect_refused(with("dia", {member("data", diagonal), narrow("offsets", {1, 1})}),
                 {"the diagonal 1", "once"});
  expect_refused(with("dia", {member("data", diagonal), narrow("offsets", {0, 4})}),
                 {"the diagonal 4", "-1 to 3"});
  expect_refused(with("coo", {floats("data", {1}), floats("row", {0}), narrow("col", {0})}),
                 {"\"row\"", "integers"});
  expect_refused([] { weights(zip(sparse("csr", {std::int64_t{1} << 40, 4}, {floats("data", {1})}))); },
                 {"member \"shape\"", "1099511627776 rows in a file of"});
  // Two largest floats at one place.
  constexpr float most = std::numeric_limits<float>::max();
  expect_refused(with("coo", {floats("data", {most, most}), narrow("row", {0, 0}), narrow("col", {1, 1})}),
                 {"the sum of duplicates", "infinity"});
}

TEST(Npz, RefusesArchives) {
  const std::string good = zip({member("w", npy("<f4", "(1, 2)", elements<float>({1, 2})))});
  expect_refused([&] { weights(good.substr(0, good.size() / 2)); },
                 {"begins as a ZIP archive", "truncated", "copied or downloaded anew"});
  expect_refused([] { weights("1 2 3\n"); }, {"a text that begins with \"1 2 3\"", "numpy.savez"});
  expect_refused([&] { weights(good + "x"); }, {"a.npz", "1 bytes after the archive (padded)"});
  std::string damaged = good;
  damaged[damaged.find(elements<float>({1, 2}))] = 1;
  expect_refused([&] { weights(damaged); }, {"member \"w.npy\"", "an intact member"});
  expect_refused([] { weights(zip({{"archive/data.pkl", "\x80\x02."}})); }, {"pickle", "save_file"});
  expect_refused([] { weights(zip({})); }, {"0 tensors", "none"});
  const std::string matrix = npy("<f4", "(1, 2)", elements<float>({1, 2}));
  expect_refused([&] { weights(zip({member("w", matrix), member("w", matrix)})); }, {"the same name twice"});
  expect_refused([] { weights(zip({member("w", npy("<f4", "(1, 3)", elements<float>({1, 2})))})); },
                 {"a.npz:w", "truncated", "12 bytes for the shape [1, 3]"});
}

TEST(Npz, RefusesABomb) {
  // One stored byte that the directory declares to be a gigabyte after decompression.
  std::string file = zip({{"w.npy", "x"}});
  const std::size_t directory = file.find("PK\x01\x02");
  file.replace(directory + 10, 2, testing::number(8, 2));
  file.replace(directory + 24, 4, testing::number(1U << 30, 4));
  expect_refused([&] { weights(file); }, {"1073741824 bytes packed into 1", "at most 1032 times"});
  file.replace(directory + 10, 2, testing::number(12, 2));
  expect_refused([&] { weights(file); }, {"compression method 12", "deflate"});
}

}  // namespace
}  // namespace weft
