// The one list of formats. Each row is filled by the file of its name.
#include <weft/formats/format.h>

#include <array>

namespace weft {
namespace named {

NamedFormat dense();
NamedFormat csr();
NamedFormat csc();
NamedFormat bitmap();
NamedFormat coo();
NamedFormat ell();
NamedFormat padded_csr();
NamedFormat sliced_ell();
NamedFormat bcsr();
NamedFormat blocked_ell();
NamedFormat hb_ell();
NamedFormat vector_wise();
NamedFormat shfl_bw();
NamedFormat n_m();
NamedFormat v_n_m();
NamedFormat column_quads();

}  // namespace named

std::span<const NamedFormat> named_formats() {
  static const std::array list{
      named::dense(),  named::csr(),         named::csc(),        named::coo(),
      named::ell(),    named::padded_csr(),  named::bcsr(),       named::blocked_ell(),
      named::hb_ell(), named::vector_wise(), named::sliced_ell(), named::shfl_bw(),
      named::bitmap(), named::n_m(),         named::v_n_m(),      named::column_quads(),
  };
  return list;
}

}  // namespace weft
