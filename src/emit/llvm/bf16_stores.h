#pragma once

namespace llvm {
class Module;
}

namespace kawara::emit {

/// LLVM 19 for aarch64 cannot select stores of single bf16 elements that also move the address, and
/// makes such stores of others. After optimising: what is stored is an integer, taken from a
/// vector, of which LLVM makes no bf16 element again.
///
///   before   %c = fptrunc float %x to bfloat; store bfloat %c, ptr %p
///   after    %v = insertelement <4 x float> poison, float %x, 0; %r = fptrunc %v to <4 x bfloat>
///            %i = extractelement (bitcast %r to <4 x i16>), 0; store i16 %i, ptr %p
void store_bf16_as_integers(llvm::Module&);

} // namespace kawara::emit
