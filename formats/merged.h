// Two ascending lists as one.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace weft {

/// The elements of both, by `key`, which neither has twice; where both have one, `join(left, right)`.
template <class Element, class Key, class Join>
std::vector<Element> merged(const std::vector<Element>& left, const std::vector<Element>& right, Key key,
                            const Join& join) {
  std::vector<Element> result;
  result.reserve(std::max(left.size(), right.size()));
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() && r != right.end()) {
    const auto& of_left = std::invoke(key, *l);
    const auto& of_right = std::invoke(key, *r);
    if (of_left == of_right)
      result.push_back(join(*l++, *r++));
    else
      result.push_back(of_left < of_right ? *l++ : *r++);
  }
  result.insert(result.end(), l, left.end());
  result.insert(result.end(), r, right.end());
  return result;
}

}  // namespace weft
