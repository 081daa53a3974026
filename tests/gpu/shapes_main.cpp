#include "shapes.h"

int main(int count, char** words) { return kawara::operator_models::shapes_program(count, words); }
