#include "schedule/auto/product/product_rules.h"

#include "schedule/auto/facts/data_dependence.h"
#include "schedule/auto/product/amx_convolution.h"
#include "schedule/auto/product/blocking.h"
#include "schedule/auto/product/instruction.h"
#include "schedule/auto/product/operand_layout.h"
#include "schedule/auto/product/split_k.h"
#include "schedule/auto/rule/choose.h"

namespace kawara::schedule {

using poly::LoopId;
using poly::StmtId;

namespace {

/// The site's nest as a product.
std::optional<Product> product_of_site(const Site& site) {
  if (!site.nest() || !may_be_product(site.schedule(), *site.nest()))
    return std::nullopt;
  auto product = product_of(site.schedule(), *site.nest(), site.facts(), site.environment());
  if (product)
    product->is_inside = !site.may_be_parallel();
  return product;
}

/// A product and its schedule: the site's, or what some first steps made of it.
struct LaidOut {
  std::string rule;
  const Site& site;
  Product product;
  LoopId root; ///< its outermost loop
  std::optional<Schedule> start = std::nullopt;

  const Schedule& schedule() const { return start ? *start : site.schedule(); }
  const Environment& environment() const { return site.environment(); }
};

/// The nests around a product that begin or finish its results.
FusedNests nests_around(const LaidOut& own) {
  FusedNests around = fused_nests_around(own.schedule().order, own.root, [&](const Nest& nest) {
    return fused_nest_of(own.schedule(), nest, own.product);
  });
  if (own.product.combined && around.before.size() == 1 && !around.after.empty())
    if (const auto start = start_of(own.schedule(), around.before.front(), around.after.front()))
      around.before.push_back(*start);
  return around;
}

Candidate candidate_of(const LaidOut& own, const std::string& rule, const Product& product,
                       const FusedNests& around) {
  const StmtId update = product.update();
  const Environment& environment = own.environment();
  Candidate made{
      rule,
      {update},
      product_plan(own.schedule(), product, around.before, around.after, environment, true),
      own.start};
  if (!around.after.empty())
    made.finish = [update, &environment](Schedule& schedule, const Planner&) {
      apply_all(schedule, {keep_tile_in_registers(schedule, update)}, environment);
      return true;
    };
  return made;
}

/// In one loop over all blocks, then in two.
bool offer_loops(const LaidOut& own, const FusedNests& around, const Offer& offer) {
  const std::string rule = own.rule + (around.after.empty() ? "" : " with epilogue");
  if (offer(candidate_of(own, rule, own.product, around)))
    return true;
  if (!shares_one_loop(own.schedule(), own.product, own.environment()))
    return false;
  Product other = own.product;
  other.avoids_one_loop = true;
  return offer(candidate_of(own, rule + " in two loops", other, around));
}

/// Offers the plans of one layout; true where no more are asked for.
bool offer_plans(LaidOut own, const Offer& offer) {
  const FusedNests around = nests_around(own);
  own.product.has_epilogue = !around.after.empty();
  const bool may_fuse = !around.before.empty() || !around.after.empty();
  if (may_fuse && runs_in_one_go(own.schedule(), own.product, own.environment()) &&
      offer_loops(own, around, offer))
    return true;
  return offer_loops(own, {}, offer);
}

/// What lays out or converts an operand that cannot be packed.
using LaysOut = std::optional<Grouped>(const Schedule&, const Product&, const Environment&);

bool offer_layout(const Site& site, const Product& product, const std::string& rule,
                  LaysOut& lay_out, const Offer& offer) {
  auto made = lay_out(site.schedule(), product, site.environment());
  return made &&
         offer_plans({rule, site, made->product, made->root, std::move(made->schedule)}, offer);
}

/// The longest loop of the reduction in blocks of that size, their results in tensors of their own.
std::optional<Schedule> in_blocks(const Site& site, StmtId update, const std::string& loop,
                                  int64_t size, std::optional<scalar::Elem> type) {
  Schedule made = site.schedule();
  const std::string& statement = made.scop[update].text.name;
  Rfactor rfactor{{statement, loop + ".0"}};
  rfactor.type = type;
  const bool is_made =
      apply_all(made, {Split{{statement, loop}, size}, rfactor}, site.environment());
  return is_made ? std::optional(std::move(made)) : std::nullopt;
}

bool offer_f16_blocks(const Site& site, const Product& product, const Offer& offer) {
  const Environment& environment = site.environment();
  if (!gains_from_f16_sums(site.schedule(), product, environment))
    return false;
  const std::string loop = site.schedule().order[product.nest.loops[deepest_of(product)]].name;
  auto start = in_blocks(site, product.update(), loop, f16_block(product), scalar::Elem::F16);
  if (!start)
    return false;
  const LoopId root = poly::path_of(start->order, product.update()).front();
  auto blocks = product_at(*start, root, environment);
  return blocks && combine_along(*start, *blocks, loop + ".0") &&
         runs_as_instruction(*start, *blocks, environment) &&
         offer_plans({"product in f16 blocks", site, *blocks, root, std::move(start)}, offer);
}

bool offer_parts(const Site& site, const Product& product, const Offer& offer) {
  const Environment& environment = site.environment();
  const auto split = reduction_split(site.schedule(), product, environment);
  if (!split)
    return false;
  const std::string loop = site.schedule().order[split->loop].name;
  auto start = in_blocks(site, product.update(), loop, split->size, std::nullopt);
  if (!start)
    return false;
  const LoopId root = poly::path_of(start->order, product.update()).front();
  const auto shared = product_in_parts(*start, root, loop + ".0", environment);
  return shared &&
         offer_plans({"product with a split reduction", site, *shared, root, std::move(start)},
                     offer);
}

/// The site's product, for rules that lay out an operand: not inside a loop that threads share.
const std::optional<Product>& product_to_lay_out(const Site& site) {
  static const std::optional<Product> none;
  return site.may_be_parallel() ? site.form(product_of_site) : none;
}

} // namespace

void products_in_amx_tiles(const Site& site, const Offer& offer) {
  if (const auto& product = product_to_lay_out(site))
    offer_layout(site, *product, "product in AMX tiles", with_tile_rows, offer);
}

void products_of_groups(const Site& site, const Offer& offer) {
  if (const auto& product = product_to_lay_out(site))
    offer_layout(site, *product, "product of groups", with_groups, offer);
}

void products_in_f16_blocks(const Site& site, const Offer& offer) {
  if (const auto& product = product_to_lay_out(site))
    offer_f16_blocks(site, *product, offer);
}

void products_in_wide_elements(const Site& site, const Offer& offer) {
  if (const auto& product = product_to_lay_out(site))
    offer_layout(site, *product, "product in wide elements", with_wide_elements, offer);
}

void products_in_parts(const Site& site, const Offer& offer) {
  if (const auto& product = product_to_lay_out(site))
    offer_parts(site, *product, offer);
}

void packed_products(const Site& site, const Offer& offer) {
  if (const auto& product = site.form(product_of_site))
    offer_plans({"product", site, *product, site.loop()}, offer);
}

void products_without_tiles(const Site& site, const Offer& offer) {
  const auto& found = site.form(product_of_site);
  if (!found)
    return;
  const std::string without = " without tile registers";
  Product product = *found;
  product.avoids_tiles = true;
  const bool is_done =
      site.may_be_parallel() &&
      (offer_layout(site, product, "product in AMX tiles" + without, with_tile_rows, offer) ||
       offer_layout(site, product, "product of groups" + without, with_groups, offer) ||
       offer_f16_blocks(site, product, offer) ||
       offer_layout(site, product, "product in wide elements" + without, with_wide_elements,
                    offer) ||
       offer_parts(site, product, offer));
  if (!is_done)
    offer_plans({"product" + without, site, product, site.loop()}, offer);
}

void reduction_in_parts(const Site& site, const Offer& offer) {
  const Nest& nest = *site.nest();
  if (!site.may_be_parallel() || site.is_part() || depends_on_data(site.schedule().scop))
    return;
  const auto split = reduction_split(site.schedule(), nest, site.facts(), site.environment());
  if (!split)
    return;
  const StmtId update = nest.statements.front();
  Candidate made{"reduction in parts", {update}, sum_in_parts(site.schedule(), nest, *split)};
  made.finish = [update, depth = nest.depth](Schedule& schedule, const Planner& plan) {
    const LoopId parts = poly::path_of(schedule.order, update)[depth];
    const bool is_nest = perfect_nest_at(schedule.order, parts).has_value();
    if (is_nest)
      plan(schedule, Phase::Nests, parts, Around::Parts);
    return is_nest;
  };
  offer(std::move(made));
}

} // namespace kawara::schedule
