#ifndef KAWARA_MODEL_C_H
#define KAWARA_MODEL_C_H

/* Models from C. Functions that can fail return 0 when they did not; the message of the last
   failure is kawara_model_message(), or in the caller's memory for kawara_model_load(). */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kawara_model kawara_model;

/* Element types, in the order of kawara::Element; KAWARA_ANY: not known before the model is
 * prepared. */
typedef enum {
  KAWARA_ANY,
  KAWARA_F64,
  KAWARA_F32,
  KAWARA_F16,
  KAWARA_BF16,
  KAWARA_I64,
  KAWARA_I32,
  KAWARA_I16,
  KAWARA_I8,
  KAWARA_U8,
  KAWARA_BOOL,
  KAWARA_F8E4M3,
  KAWARA_F8E5M2,
  KAWARA_U16,
  KAWARA_U32,
  KAWARA_U64
} kawara_element;

/* An input or output. Names and shapes live as long as the model and until it is prepared. */
typedef struct {
  const char* name;
  kawara_element element;
  size_t rank;
  const int64_t* shape; /* -1 where an extent is open */
} kawara_port;

/* An .onnx or .kwx file; NULL when it cannot be loaded, with the reason in `message`, cut off at
   `message_bytes`, if that is not NULL. */
kawara_model* kawara_model_load(const char* path, char* message, size_t message_bytes);
void kawara_model_free(kawara_model* model);

size_t kawara_model_inputs(const kawara_model* model);
size_t kawara_model_outputs(const kawara_model* model);
kawara_port kawara_model_input(const kawara_model* model, size_t index);
kawara_port kawara_model_output(const kawara_model* model, size_t index);

/* The shape of an input for the next `prepare`: the way to give extents that have no name a size.
 */
int kawara_model_set_shape(kawara_model* model, const char* input, const int64_t* shape,
                           size_t rank);
/* Gives open extents a size by symbol and compiles; `count` may be 0. Fails where an extent stays
 * open. */
int kawara_model_prepare(kawara_model* model, const char* const* symbols, const int64_t* sizes,
                         size_t count);

/* Runs on the caller's memory, one pointer per input and output, in their order. */
int kawara_model_run(kawara_model* model, const void* const* inputs, void* const* outputs);

/* Writes the prepared model as a .kwx file. */
int kawara_model_save(kawara_model* model, const char* path);

/* What the last call that failed said; "" when none did. */
const char* kawara_model_message(const kawara_model* model);

#ifdef __cplusplus
}
#endif

#endif
