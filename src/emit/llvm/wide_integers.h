#pragma once

namespace llvm {
class Module;
}

namespace kawara::emit {

/// Where a row is stored as one vector and read as halves, LLVM 19 passes the halves on as integers
/// of 256 bits, and its x86 code generator then ends the process ("Do not know how to expand this
/// operator's operand"). After optimising:
///
///   before   %w = bitcast <16 x i32> %v to <2 x i256>; %e = extractelement %w, 1;
///            %h = bitcast i256 %e to <8 x i32>
///   after    %h = shufflevector <16 x i32> %v, lanes 8 to 15
void take_vectors_apart_by_lanes(llvm::Module&);

} // namespace kawara::emit
