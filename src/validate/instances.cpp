#include "validate/instances.h"

#include "poly/affine.h"
#include "poly/isl/text.h"

namespace kawara::validate {
namespace {

std::string example(const isl::set& instances) {
  return poly::text_of(isl::set(instances.sample_point()));
}

class Checker {
public:
  Checker(const poly::Scop& scop, uint32_t statement, Report& report)
      : scop_(scop), text_(scop.statements[statement].text),
        domain_(scop.statements[statement].domain.intersect_params(scop.context)), report_(report) {
  }

  void check(const std::vector<const Run*>& runs) {
    isl::set done;
    for (const Run* run : runs) {
      const isl::set range = run->inverse ? *run->range : run->instances().range();
      if (!range.is_subset(domain_))
        check_beyond(*run, range.subtract(domain_));
      if (!run->inverse) {
        const isl::map inside = run->instances().intersect_range(domain_);
        if (!inside.is_injective())
          fault("runs more than once: " + example(doubled(inside)));
      }
      const isl::set here = run->is_padded ? range.intersect(domain_) : range;
      if (!done.is_null() && !done.is_disjoint(here))
        fault("runs more than once: " + example(done.intersect(here)));
      done = done.is_null() ? here : done.unite(here);
    }
    const isl::set missing = done.is_null() ? domain_ : domain_.subtract(done);
    if (!missing.is_empty())
      fault("does not run: " + example(missing));
  }

private:
  static isl::set doubled(const isl::map& runs) {
    const isl::map pairs = runs.apply_range(runs.reverse());
    const isl::map others = pairs.subtract(pairs.domain().identity());
    return others.domain().apply(runs);
  }

  /// Tiles that are filled up may run on, into elements that no instance of the domain writes.
  void check_beyond(const Run& run, const isl::set& beyond) {
    if (!run.is_padded)
      return fault("runs outside of its domain: " + example(beyond));
    const auto elements = [&](const isl::set& instances) {
      const isl::set range = poly::statement_universe(scop_.context_owner->get(), scop_.params,
                                                      "elements", text_.index.size());
      return poly::map_from_exprs(text_.index, instances, range, scop_.params).range();
    };
    if (program::depends_on_data(text_) || !elements(beyond).is_disjoint(elements(domain_)))
      report_.unchecked.push_back(text_.name +
                                  " runs on over what its operands are filled up with: that these "
                                  "change nothing is not seen in sets");
  }

  void fault(const std::string& what) { report_.faults.push_back(text_.name + " " + what); }

  const poly::Scop& scop_;
  const program::Statement& text_;
  isl::set domain_;
  Report& report_;
};

} // namespace

void check_instances(const poly::Scop& scop, const Runs& runs, Report& report) {
  for (uint32_t s = 0; s < scop.statements.size(); ++s) {
    if (scop.statements[s].is_removed || runs.unread_statements.contains(s))
      continue;
    std::vector<const Run*> then, otherwise;
    for (const Run& run : runs.all) {
      if (run.statement == s && run.is_then)
        then.push_back(&run);
      if (run.statement == s && run.is_otherwise)
        otherwise.push_back(&run);
    }
    Checker checker(scop, s, report);
    checker.check(then);
    if (otherwise != then)
      checker.check(otherwise);
  }
}

} // namespace kawara::validate
