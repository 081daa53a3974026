#pragma once

namespace kawara::operator_models {

/// The program gpu_shapes, as shapes.cpp says; its exit code.
int shapes_program(int count, char** words);

} // namespace kawara::operator_models
