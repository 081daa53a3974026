// Loops as lines of text.
import { sums } from './trace.js';

const OPERATORS = { floordiv: '//', mod: '%', mul: '*', lt: '<', le: '<=', eq: '==', and: 'and', or: 'or' };

/** Names of loops' variables: `i_0` as `i.0`, as directives name them. */
export const loopName = (name) => name.replace(/_(\d)(?=$|_)/g, '.$1');

export function sumText(sum, names, formulas) {
  if (typeof sum === 'number') return String(sum);
  let text = '';
  const add = (what, factor) => {
    const size = Math.abs(factor);
    const sign = factor < 0 ? (text ? ' - ' : '-') : text ? ' + ' : '';
    text += sign + (size === 1 ? what : `${size}*${what}`);
  };
  let constant = sum.c || 0;
  const terms = (sum.v || []).map(([v, factor]) => [names[v] ?? `v${v}`, factor]);
  for (const [f, factor] of sum.f || []) {
    const known = valueOf(formulas[f], formulas);
    if (known === null) terms.push([formulaText(formulas[f], names, formulas), factor]);
    else constant += known * factor;
  }
  // What is added comes first: 32 - 8*i, not -8*i + 32.
  const isLedByConstant = constant > 0 && terms.length > 0 && terms.every(([, factor]) => factor < 0);
  if (isLedByConstant) text = String(constant);
  for (const [what, factor] of terms.sort((a, b) => (b[1] > 0) - (a[1] > 0))) add(what, factor);
  if (constant !== 0 && !isLedByConstant) text += text ? (constant < 0 ? ` - ${-constant}` : ` + ${constant}`) : String(constant);
  return text || '0';
}
/** The value of a formula that has no variable in it; else null. */
function valueOf(formula, formulas) {
  const isFixed = (sum) => typeof sum === 'number' || (!(sum.v || []).length && (sum.f || []).every(([f]) => formulas[f].slice(1).every(isFixed)));
  return formula.slice(1).every(isFixed) ? sums(formulas)({ f: [[formulas.indexOf(formula), 1]] })([]) : null;
}
function formulaText([op, a, b, c], names, formulas) {
  const x = sumText(a, names, formulas), y = sumText(b, names, formulas);
  if (op === 'min' || op === 'max') return `${op}(${x}, ${y})`;
  if (op === 'select') return `(${y} if ${x} else ${sumText(c, names, formulas)})`;
  return `(${x} ${OPERATORS[op]} ${y})`;
}

/**
 * The lines of an order: {depth, text, loop (its variable), mark, inside (lines of the loops around), step (number of a statement's line)}.
 */
export function linesOf(program, order) {
  const names = {}, lines = [];
  const gather = (code) => {
    for (const step of code) {
      if (step.for !== undefined) {
        names[step.for] = loopName(step.name || `v${step.for}`);
        gather(step.do);
      } else if (step.if !== undefined) {
        gather(step.then);
        gather(step.else || []);
      }
    }
  };
  gather(order.code);
  let steps = 0;
  const write = (code, depth, inside) => {
    for (const step of code) {
      if (step.for !== undefined) {
        const lo = sumText(step.lo, names, order.formulas), hi = sumText(step.hi, names, order.formulas);
        const by = step.step && step.step !== 1 ? `, ${step.step}` : '';
        const range = lo === '0' && !by ? hi : `${lo}, ${hi}${by}`;
        lines.push({ depth, text: `for ${names[step.for]} in range(${range})`, loop: step.for, mark: step.mark || '', inside });
        write(step.do, depth + 1, [...inside, lines.length - 1]);
      } else if (step.if !== undefined) {
        lines.push({ depth, text: `if ${sumText(step.if, names, order.formulas)}`, mark: '', inside });
        write(step.then, depth + 1, inside);
        if ((step.else || []).length) {
          lines.push({ depth, text: 'else', mark: '', inside });
          write(step.else, depth + 1, inside);
        }
      } else {
        lines.push({ depth, text: program.statements[step.run].text, mark: '', inside, step: steps++ });
      }
    }
  };
  write(order.code, 0, []);
  return { lines, names };
}

/** Loops around a statement with their marks, outermost first; where it stands in several places, those of all. */
export function loopsAround(order, statement) {
  const found = new Map();
  const gather = (code, around) => {
    for (const step of code) {
      if (step.for !== undefined) gather(step.do, [...around, step]);
      else if (step.if !== undefined) gather([...step.then, ...(step.else || [])], around);
      else if (step.run === statement)
        for (const loop of around)
          if (!found.has(loop.for)) found.set(loop.for, { variable: loop.for, name: loop.name || '', mark: loop.mark || '' });
    }
  };
  gather(order.code, []);
  return [...found.values()];
}
