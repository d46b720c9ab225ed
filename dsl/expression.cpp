#include <weft/dsl/expression.h>

namespace weft::detail {
namespace {

Node node_of(Term::Kind kind) {
  Node node;
  node.kind = kind;
  return node;
}

}  // namespace

Node number_node(double value) {
  Node node = node_of(Term::Kind::number);
  node.number = value;
  return node;
}

Node scalar_node(const Scalar& scalar) {
  Node node = node_of(Term::Kind::scalar);
  node.scalar = scalar.name;
  return node;
}

Node access_node(const AccessValue& access) {
  Node node = node_of(Term::Kind::access);
  node.accesses = {access};
  return node;
}

Node sum_node(std::vector<std::string> reductions, const AccessValue& left, const AccessValue& right) {
  Node node = node_of(Term::Kind::sum);
  node.accesses = {left, right};
  node.reductions = std::move(reductions);
  return node;
}

Node operation_node(Term::Kind kind, std::vector<Node> arguments) {
  Node node = node_of(kind);
  node.arguments = std::move(arguments);
  return node;
}

}  // namespace weft::detail
