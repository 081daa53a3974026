# The rewriting rules, written into the library as text.
file(GLOB rule_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/graph/rewrite/rules/*.rules)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${rule_files})
set(rules_source "#include \"graph/rewrite/rules_text.h\"\n\nnamespace kawara::rewrite {\n\n")
string(APPEND rules_source "std::string_view rules_text() {\n  return")
foreach(file IN LISTS rule_files)
  file(READ ${file} text)
  # A literal holds 64 KiB at least; one for each file.
  string(APPEND rules_source " R\"rules(${text})rules\"\n")
endforeach()
string(APPEND rules_source ";\n}\n\n} // namespace kawara::rewrite\n")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/rules_text.cpp CONTENT "${rules_source}" @ONLY)
target_sources(kawara_graph PRIVATE ${CMAKE_BINARY_DIR}/rules_text.cpp)
