// From a program and an order of its iterations to a list of accesses.
//
// program   {arrays, references, formulas, statements}: of each statement its accesses, as sums over its iterators
// order     {variables, formulas, loops, code}: loops whose innermost steps say which statement runs, at which iteration
// A sum is a number, or {c, v: [[variable, factor], ...], f: [[formula, factor], ...]}.

const floorDiv = (a, b) => (b === 0 ? 0 : Math.floor(a / b));
const OPS = {
  min: Math.min,
  max: Math.max,
  floordiv: floorDiv,
  mod: (a, b) => (b === 0 ? 0 : a - floorDiv(a, b) * b),
  mul: (a, b) => a * b,
  lt: (a, b) => (a < b ? 1 : 0),
  le: (a, b) => (a <= b ? 1 : 0),
  eq: (a, b) => (a === b ? 1 : 0),
  and: (a, b) => (a !== 0 && b !== 0 ? 1 : 0),
  or: (a, b) => (a !== 0 || b !== 0 ? 1 : 0),
};

/** Functions of the values of variables, made from sums over `formulas`. */
export function sums(formulas) {
  const made = new Array(formulas.length);
  const formula = (k) => {
    if (made[k]) return made[k];
    const [op, a, b, c] = formulas[k];
    const x = sum(a), y = sum(b);
    if (op === 'select') {
      const z = sum(c);
      return (made[k] = (values) => (x(values) !== 0 ? y(values) : z(values)));
    }
    const f = OPS[op];
    if (!f) throw new Error(`no formula is called ${op}`);
    return (made[k] = (values) => f(x(values), y(values)));
  };
  const sum = (linear) => {
    if (typeof linear === 'number') return () => linear;
    const c = linear.c || 0, v = linear.v || [], terms = (linear.f || []).map(([k, factor]) => [formula(k), factor]);
    if (terms.length === 0 && v.length === 1) {
      const [[a, fa]] = v;
      return (values) => c + values[a] * fa;
    }
    if (terms.length === 0 && v.length === 2) {
      const [[a, fa], [b, fb]] = v;
      return (values) => c + values[a] * fa + values[b] * fb;
    }
    return (values) => {
      let all = c;
      for (let k = 0; k < v.length; ++k) all += values[v[k][0]] * v[k][1];
      for (let k = 0; k < terms.length; ++k) all += terms[k][0](values) * terms[k][1];
      return all;
    };
  };
  return sum;
}

class Grown {
  constructor(Type, width = 1) {
    this.width = width;
    this.data = new Type(1024 * width);
  }
  room(count) {
    const needed = count * this.width;
    if (needed <= this.data.length) return;
    const more = new this.data.constructor(Math.max(needed, this.data.length * 2));
    more.set(this.data);
    this.data = more;
  }
}

/**
 * Every access of the program in that order.
 * -> {accesses, reference, at (bytes behind the begin of its array), instance (of each access),
 *     instances, statement, step (number of its line in the code), iters, values (of each instance, `depth` and `variables` wide),
 *     first (access of an instance), flops (done when it is)}
 */
export function trace(program, order) {
  const inStatements = sums(program.formulas || []), inLoops = sums(order.formulas || []);
  const depth = Math.max(1, ...program.statements.map((s) => s.iters.length));
  const variables = Math.max(1, order.variables);
  const reference = new Grown(Uint16Array), at = new Grown(Int32Array), instance = new Grown(Int32Array);
  const statement = new Grown(Uint16Array), line = new Grown(Uint16Array), iters = new Grown(Int16Array, depth), values = new Grown(Int16Array, variables);
  const first = new Grown(Int32Array);
  const flops = new Grown(Float64Array);
  let accesses = 0, instances = 0, done = 0, lines = 0;
  const statements = program.statements.map((s) => ({
    flops: s.flops,
    touches: s.touches.map((t) => ({
      reference: t.reference,
      at: inStatements(t.at),
      guard: t.guard === undefined ? null : inStatements(t.guard),
    })),
  }));
  const now = new Int32Array(variables), point = new Int32Array(depth);
  const compile = (code) => {
    const steps = code.map(one);
    if (steps.length === 1) return steps[0];
    return () => {
      for (let k = 0; k < steps.length; ++k) steps[k]();
    };
  };
  const one = (step) => {
    if (step.run !== undefined) {
      const { touches, flops: work } = statements[step.run];
      const where = step.at.map(inLoops), own = lines++;
      return () => {
        for (let d = 0; d < where.length; ++d) point[d] = where[d](now);
        statement.room(instances + 1), line.room(instances + 1), iters.room(instances + 1), values.room(instances + 1);
        flops.room(instances + 1), first.room(instances + 1);
        statement.data[instances] = step.run;
        line.data[instances] = own;
        first.data[instances] = accesses;
        iters.data.set(point, instances * depth);
        values.data.set(now, instances * variables);
        done += work;
        flops.data[instances] = done;
        reference.room(accesses + touches.length), at.room(accesses + touches.length), instance.room(accesses + touches.length);
        for (let t = 0; t < touches.length; ++t) {
          const touch = touches[t];
          if (touch.guard !== null && touch.guard(point) === 0) continue;
          reference.data[accesses] = touch.reference;
          at.data[accesses] = touch.at(point);
          instance.data[accesses] = instances;
          ++accesses;
        }
        ++instances;
      };
    }
    if (step.if !== undefined) {
      const cond = inLoops(step.if), then = compile(step.then), otherwise = compile(step.else || []);
      return () => (cond(now) !== 0 ? then() : otherwise());
    }
    const lo = inLoops(step.lo), hi = inLoops(step.hi), body = compile(step.do), by = step.step || 1, v = step.for;
    return () => {
      const end = hi(now);
      for (let x = lo(now); by > 0 ? x < end : x > end; x += by) {
        now[v] = x;
        body();
      }
    };
  };
  compile(order.code)();
  return {
    accesses, instances, depth, variables,
    reference: reference.data, at: at.data, instance: instance.data,
    statement: statement.data, step: line.data, iters: iters.data, values: values.data, first: first.data, flops: flops.data,
  };
}
