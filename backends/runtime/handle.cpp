#include <weft/backends/runtime/handle.h>

#include <string>

namespace weft {

void refuse_empty_handle(const char* handle, const char* maker, CallPlace place) {
  user_call(place, [&] {
    throw UserError(std::string("an empty ") + handle + " is used",
                    std::string("a ") + handle + " that holds nothing",
                    std::string("one that ") + maker + " gave and that nothing was moved out of");
  });
  throw InternalError("an empty handle was not refused");
}

}  // namespace weft
