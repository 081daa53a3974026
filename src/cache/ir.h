#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace kawara::cache {

/// LLVM's assembly, written line by line. Values and labels are numbered.
class Ir {
public:
  /// `%7 = ...`; gives `%7`.
  template <class... Args> std::string value(fmt::format_string<Args...> text, Args&&... args) {
    const std::string name = fmt::format("%v{}", next_++);
    text_ += fmt::format("  {} = ", name) + fmt::format(text, std::forward<Args>(args)...) + "\n";
    return name;
  }
  template <class... Args> void line(fmt::format_string<Args...> text, Args&&... args) {
    text_ += "  " + fmt::format(text, std::forward<Args>(args)...) + "\n";
  }
  template <class... Args> void open(fmt::format_string<Args...> text, Args&&... args) {
    text_ += fmt::format(text, std::forward<Args>(args)...) + " {\nentry:\n";
    block_ = "entry";
  }
  void close() { text_ += "}\n\n"; }
  std::string new_label() { return fmt::format("b{}", next_++); }
  /// What follows is the block of that name.
  void begin(const std::string& label) {
    text_ += label + ":\n";
    block_ = label;
  }
  void jump(const std::string& label) { line("br label %{}", label); }
  void branch(const std::string& cond, const std::string& then, const std::string& otherwise,
              bool is_rare = false) {
    line("br i1 {}, label %{}, label %{}{}", cond, then, otherwise, is_rare ? ", !prof !0" : "");
  }
  /// The block that is being written.
  const std::string& block() const { return block_; }

  /// The address `bytes` behind `pointer`.
  std::string at(const std::string& pointer, size_t bytes) {
    return bytes == 0 ? pointer : value("getelementptr i8, ptr {}, i64 {}", pointer, bytes);
  }
  std::string load(std::string_view type, const std::string& pointer, size_t bytes = 0) {
    return value("load {}, ptr {}", type, at(pointer, bytes));
  }
  /// Of memory that does not change while the code runs.
  std::string load_constant(std::string_view type, const std::string& pointer, size_t bytes = 0) {
    return value("load {}, ptr {}, !invariant.load !1", type, at(pointer, bytes));
  }
  void store(std::string_view type, const std::string& what, const std::string& pointer,
             size_t bytes = 0) {
    line("store {} {}, ptr {}", type, what, at(pointer, bytes));
  }
  /// The address of an element of an array.
  std::string element(std::string_view type, const std::string& array, const std::string& index) {
    return value("getelementptr {}, ptr {}, i64 {}", type, array, index);
  }
  /// Adds to a number of 64 bits in memory.
  void add_to(const std::string& pointer, const std::string& amount) {
    store("i64", value("add i64 {}, {}", load("i64", pointer), amount), pointer);
  }
  std::string wide(const std::string& number) { return value("zext i32 {} to i64", number); }

  const std::string& text() const { return text_; }
  std::string& text() { return text_; }

private:
  std::string text_, block_;
  int next_ = 0;
};

} // namespace kawara::cache
