// The one list of formats. Each row is filled by the file of its name.
#include <weft/formats/named/common.h>

namespace weft {
std::span<const NamedFormat> named_formats() {
  static const std::array list{
      named::dense(),         named::csr(),
      named::csc(),           named::coo(),
      named::ell(),           named::padded_csr(),
      named::bcsr(),          named::blocked_ell(),
      named::hb_ell(),        named::vector_wise(),
      named::sliced_ell(),    named::shfl_bw(),
      named::bitmap(),        named::n_m(),
      named::v_n_m(),         named::mixed(),
      named::column_quads(),  named::column_vectors(),
      named::column_blocks(), named::column_windows(),
      named::lane_streams(),  named::pair_words(),
  };
  return list;
}

}  // namespace weft
