// expect: weft: a step stands behind a form that gives loops back, not the schedule
// expect: s.split(n = 32).reorder(k, n.inner)
// fix: s.split(n = 32).reorder(k, n.inner).vectorize(n.inner);
#include <weft/dsl/index.h>
#include <weft/scheduler/program/schedule.h>

using namespace weft;

WEFT_INDEX(m, n, k);

void program(Schedule& s) {
  const auto [m_outer, n_outer, m_inner, n_inner] = s.tile(m, 4, n, 64);
  const auto [rows, columns] = s.split(m_inner, 2, n_inner, 32);
  auto groups_of_k = s.split_k(k, 8);
  s.bind(groups_of_k, warp).reorder(m_outer, n_outer, rows.outer, columns.outer).unroll(rows.inner);
  s.split(n, 32).reorder(k, n.inner).vectorize(n.inner);  // here
}
