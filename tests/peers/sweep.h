#pragma once

namespace kawara::peers {

/// against_ort --ort FOLDER [--seeds A..B] [--jobs N] [--keep FOLDER] [--family NAME] [--exact N]
/// [--verbose]: random graphs in Kawara and in ONNX Runtime. Exit code 1 where a difference is not
/// explained, 77 where there is no ONNX Runtime.
int against_ort_program(int count, char** words);

} // namespace kawara::peers
