#include <weft/dsl/extent.h>

namespace weft {

Extent Extent::any(std::string name, std::int64_t multiple, CallPlace place) {
  return user_call(place, [&] {
    if (name.empty())
      throw UserError("a size that is given at launch has no name", "\"\"",
                      "a name, such as Extent::any(\"N\")");
    Extent extent;
    extent.name = std::move(name);
    extent.multiple = multiple;
    return extent;
  });
}

}  // namespace weft
