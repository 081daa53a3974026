#pragma once

namespace kawara::oracle {

/// The program `triangles` with these arguments (triangle_sweep.cpp says what they are). Returns
/// its exit code.
int triangles_program(int argc, char** argv);

} // namespace kawara::oracle
