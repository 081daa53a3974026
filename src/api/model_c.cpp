#include <kawara/model.h>
#include <kawara/model_c.h>

#include <algorithm>
#include <cstring>
#include <exception>

struct kawara_model {
  kawara::Model model;
  kawara::Shapes shapes; ///< for `prepare`
  std::vector<kawara::TensorData> reads, writes;
  std::string message;
};

namespace {

static_assert(static_cast<int>(kawara::Element::Bool) == KAWARA_BOOL &&
                  static_cast<int>(kawara::Element::F8E5M2) == KAWARA_F8E5M2 &&
                  static_cast<int>(kawara::Element::U64) == KAWARA_U64,
              "the types of both interfaces have the same numbers");

kawara_port c_port(const std::vector<kawara::ModelPort>& ports, size_t index) {
  if (index >= ports.size())
    return {nullptr, KAWARA_ANY, 0, nullptr};
  const kawara::ModelPort& port = ports[index];
  return {port.name.c_str(), static_cast<kawara_element>(port.element), port.shape.size(),
          port.shape.data()};
}

/// Runs `action`; a failure becomes the model's message and 1.
template <class F> int guarded(kawara_model* model, F action) {
  try {
    action();
    return 0;
  } catch (const std::exception& e) {
    model->message = e.what();
  }
  return 1;
}

} // namespace

kawara_model* kawara_model_load(const char* path, char* message, size_t message_bytes) {
  try {
    return new kawara_model{kawara::Model::load(path), {}, {}, {}, ""};
  } catch (const std::exception& e) {
    if (message != nullptr && message_bytes > 0) {
      std::strncpy(message, e.what(), message_bytes - 1);
      message[message_bytes - 1] = '\0';
    }
  }
  return nullptr;
}

void kawara_model_free(kawara_model* model) { delete model; }

size_t kawara_model_inputs(const kawara_model* model) { return model->model.inputs().size(); }
size_t kawara_model_outputs(const kawara_model* model) { return model->model.outputs().size(); }
kawara_port kawara_model_input(const kawara_model* model, size_t index) {
  return c_port(model->model.inputs(), index);
}
kawara_port kawara_model_output(const kawara_model* model, size_t index) {
  return c_port(model->model.outputs(), index);
}

int kawara_model_set_shape(kawara_model* model, const char* input, const int64_t* shape,
                           size_t rank) {
  return guarded(model, [&] { model->shapes[input] = {shape, shape + rank}; });
}

int kawara_model_prepare(kawara_model* model, const char* const* symbols, const int64_t* sizes,
                         size_t count) {
  return guarded(model, [&] {
    kawara::Sizes named;
    for (size_t k = 0; k < count; ++k)
      named[symbols[k]] = sizes[k];
    model->model.prepare(named, model->shapes);
  });
}

int kawara_model_run(kawara_model* model, const void* const* inputs, void* const* outputs) {
  return guarded(model, [&] {
    model->reads.clear();
    model->writes.clear();
    for (size_t k = 0; k < model->model.inputs().size(); ++k)
      model->reads.emplace_back(inputs[k]);
    for (size_t k = 0; k < model->model.outputs().size(); ++k)
      model->writes.emplace_back(outputs[k]);
    model->model.run(std::span<const kawara::TensorData>(model->reads),
                     std::span<const kawara::TensorData>(model->writes));
  });
}

int kawara_model_save(kawara_model* model, const char* path) {
  return guarded(model, [&] { model->model.save(path); });
}

const char* kawara_model_message(const kawara_model* model) { return model->message.c_str(); }
