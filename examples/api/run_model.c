/* run_model_c FILE: runs a model with one f32 input and one f32 output, from C, on an input of ones. */
#include <kawara/kawara.h>

#include <stdio.h>
#include <stdlib.h>

static size_t elements_of(kawara_port port) {
  size_t elements = 1;
  for (size_t k = 0; k < port.rank; ++k)
    elements *= (size_t)port.shape[k];
  return elements;
}

int main(int argc, char** argv) {
  char message[1000] = "";
  kawara_model* model = argc > 1 ? kawara_model_load(argv[1], message, sizeof message) : NULL;
  if (model == NULL) {
    fprintf(stderr, "%s\n", message);
    return 1;
  }
  if (kawara_model_prepare(model, NULL, NULL, 0) != 0) {
    fprintf(stderr, "%s\n", kawara_model_message(model));
    return 1;
  }
  const kawara_port input = kawara_model_input(model, 0), output = kawara_model_output(model, 0);
  if (kawara_model_inputs(model) != 1 || kawara_model_outputs(model) != 1 ||
      input.element != KAWARA_F32 || output.element != KAWARA_F32) {
    fprintf(stderr, "this example takes models with one f32 input and output\n");
    return 1;
  }
  float* x = malloc(elements_of(input) * sizeof *x);
  float* y = malloc(elements_of(output) * sizeof *y);
  for (size_t k = 0; k < elements_of(input); ++k)
    x[k] = 1;
  const void* inputs[] = {x};
  void* outputs[] = {y};
  const int failed = kawara_model_run(model, inputs, outputs);
  if (failed)
    fprintf(stderr, "%s\n", kawara_model_message(model));
  else
    printf("%s -> %s: first element %g\n", input.name, output.name, (double)y[0]);
  free(x);
  free(y);
  kawara_model_free(model);
  return failed;
}
