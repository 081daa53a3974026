#include "peers/maker.h"

namespace kawara::peers {
namespace {

void add_window(Maker& m) {
  Attributes attributes;
  if (m.chance(50))
    attributes["periodic"] = m.pick(2);
  if (m.chance(30))
    attributes["output_datatype"] = m.chance(50) ? int64_t{1} : int64_t{11};
  m.add(m.word({"HannWindow", "HammingWindow", "BlackmanWindow"}),
        {m.scalar(m.chance(50) ? DataType::I64 : DataType::I32,
                  static_cast<double>(m.between(1, 12)))},
        attributes);
}

void add_dft(Maker& m) {
  const int64_t parts = m.chance(60) ? 1 : 2;
  const Val a = m.fresh(m.chance(80) ? DataType::F32 : DataType::F64,
                        {m.between(1, 2), m.between(1, 9), m.between(1, 4), parts},
                        {Elements::Kind::Plain, 2});
  Attributes attributes;
  const int64_t axis = m.between(1, 2);
  if (m.chance(30) && parts == 1)
    attributes["onesided"] = int64_t{1};
  else if (m.chance(40))
    attributes["inverse"] = m.pick(2);
  if (m.opset() < 20) {
    attributes["axis"] = axis;
    m.add("DFT", {a}, attributes);
    return;
  }
  m.add("DFT", {a, Val{}, m.scalar(DataType::I64, static_cast<double>(axis))}, attributes);
}

void add_dropout(Maker& m) {
  const Val a = m.floats(0, 4);
  Attributes attributes;
  if (m.opset() < 12 && m.chance(50))
    attributes["ratio"] = m.real(0, 0.875);
  m.add("Dropout", {a}, attributes, m.opset() >= 10 && m.chance(30) ? 2 : 1);
}

void add_attention(Maker& m) {
  const int64_t batch = m.between(1, 2), heads = m.between(1, 3), groups = m.chance(70) ? 1 : 2;
  const int64_t queries = m.between(1, 5), keys = m.between(1, 6), width = m.between(1, 8),
                value_width = m.chance(60) ? width : m.between(1, 5);
  const DataType type = m.chance(75) ? DataType::F32 : m.float_type();
  Attributes attributes;
  if (m.chance(40))
    attributes["is_causal"] = m.pick(2);
  if (m.chance(40))
    attributes["scale"] = m.real(0.25, 1.5);
  if (m.chance(20))
    attributes["softcap"] = m.real(1, 4);
  std::vector<Val> all{m.fresh(type, {batch, heads * groups, queries, width}),
                       m.fresh(type, {batch, heads, keys, width}),
                       m.fresh(type, {batch, heads, keys, value_width})};
  if (m.chance(40))
    all.push_back(m.chance(50) ? m.fresh(type, {queries, keys})
                               : m.fresh(DataType::Bool, {queries, keys}));
  m.add("Attention", all, attributes);
}

void add_rotary(Maker& m) {
  const int64_t batch = m.between(1, 2), heads = m.between(1, 3), length = m.between(1, 4),
                half = m.between(1, 4);
  const DataType type = m.chance(80) ? DataType::F32 : m.float_type();
  Attributes attributes;
  if (m.chance(50))
    attributes["interleaved"] = m.pick(2);
  if (m.chance(50)) {
    m.add("RotaryEmbedding",
          {m.fresh(type, {batch, heads, length, 2 * half}), m.fresh(type, {batch, length, half}),
           m.fresh(type, {batch, length, half})},
          attributes);
    return;
  }
  Tensor at(DataType::I64, {batch, length});
  for (int64_t k = 0; k < at.elements(); ++k)
    at.set_int(k, m.pick(6));
  m.add("RotaryEmbedding",
        {m.fresh(type, {batch, heads, length, 2 * half}), m.fresh(type, {6, half}),
         m.fresh(type, {6, half}), m.chance(50) ? m.given(at) : m.constant(at)},
        attributes);
}

void add_stft(Maker& m) {
  const int64_t length = m.between(4, 16), frame = m.between(2, length);
  std::vector<Val> all{
      m.fresh(DataType::F32, {m.between(1, 2), length, 1}, {Elements::Kind::Plain, 2}),
      m.scalar(DataType::I64, static_cast<double>(m.between(1, 4)))};
  all.push_back(m.chance(60) ? m.fresh(DataType::F32, {frame}, {Elements::Kind::Plain, 1}) : Val{});
  all.push_back(m.scalar(DataType::I64, static_cast<double>(frame)));
  Attributes attributes;
  if (m.chance(50))
    attributes["onesided"] = m.pick(2);
  m.add("STFT", all, attributes);
}

void add_mel(Maker& m) {
  const auto whole = [&](int64_t value) {
    return m.scalar(DataType::I64, static_cast<double>(value));
  };
  m.add("MelWeightMatrix",
        {whole(m.between(2, 8)), whole(m.between(16, 40)), whole(16000),
         m.scalar(DataType::F32, m.real(0, 100)), m.scalar(DataType::F32, m.real(2000, 8000))});
}

void add_ngrams(Maker& m) {
  Tensor words(m.chance(50) ? DataType::I64 : DataType::I32,
               m.chance(50) ? Shape{m.between(1, 9)} : Shape{2, m.between(1, 6)});
  for (int64_t k = 0; k < words.elements(); ++k)
    words.set_int(k, m.between(1, 5));
  Attributes attributes{{"max_gram_length", int64_t{2}},
                        {"min_gram_length", m.between(1, 2)},
                        {"max_skip_count", m.between(0, 2)},
                        {"mode", m.word({"TF", "IDF", "TFIDF"})},
                        {"ngram_counts", Ints{0, 3}},
                        {"ngram_indexes", Ints{0, 1, 2, 3, 4}},
                        {"pool_int64s", Ints{2, 3, 5, 1, 2, 4, 5}}};
  if (m.chance(50))
    attributes["weights"] = std::vector<double>{0.5, 1, 2, 0.25, 1.5};
  m.add("TfIdfVectorizer", {m.chance(60) ? m.given(words) : m.constant(words)}, attributes);
}

} // namespace

std::vector<Family> signal_families() {
  return {{"window", add_window},   {"dft", add_dft},
          {"dropout", add_dropout}, {"attention", add_attention, 2},
          {"rotary", add_rotary},   {"stft", add_stft},
          {"mel", add_mel},         {"ngrams", add_ngrams}};
}

} // namespace kawara::peers
