// What a program asks before it reads a buffer.
#pragma once

#include <weft/scheduler/steps/parts/loops.h>

#include <string>
#include <vector>

namespace weft::steps {

/// What is asked before each read of a buffer, outermost first, that needs no loop but those available. A
/// condition on the buffer's own values is none of them: it is asked of the copy afterwards, and what is
/// asked behind it comes too late to guard the copy; nor is the count of arrivals, where asking once more
/// would be one arrival more.
/// One list for each read of the body but those that others guard less already; `inside` are the body's
/// loops.
std::vector<std::vector<ir::Expr>> guards_of_reads(const ir::Stmt& body, const ir::BufferRef& buffer,
                                                   const ir::InnerLoops& inside,
                                                   const std::vector<std::string>& available);

}  // namespace weft::steps
