#pragma once

namespace kawara::oracle {

/// The program `oracle`; its source says what it does.
int oracle_program(int argc, char** argv);

} // namespace kawara::oracle
