// expect: weft: a Network is not made so
// expect: Network::read("folder")
// fix: Network network = Network::read("net");
#include <weft/search/network/network.h>

using namespace weft;

std::size_t program() {
  Network network("net");  // here
  return network.layers().size();
}
