// What work takes in energy, from a machine file's figures: the sums of src/estimate/energy/energy.cpp.

const kOperationsOfALane = 2, kOperandsOfAnInstruction = 3, kPico = 1e-12;

const bytesOf = type => Number(/\d+/.exec(type)?.[0] ?? 8) / 8;
const isFloat = type => /^b?f\d/.test(type);

/** The figure of a type: its own, else of the next wider one of the same kind; matrix units before vectors. */
function operationFor(figures, type) {
  const isOwn = each => each.type === type || (type === 'u8' && each.type === 'i8');
  const rank = each => [isOwn(each) ? 0 : bytesOf(each.type), each.unit === 'matrix' ? 0 : 1];
  const before = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
  return (figures.operations ?? [])
    .filter(each => bytesOf(each.type) >= bytesOf(type) && (isFloat(each.type) || !isFloat(type)))
    .reduce((best, each) => (best === null || before(rank(each), rank(best)) ? each : best), null);
}

const scaled = (figure, factor) => ({ low: figure.low * factor, value: figure.value * factor, high: figure.high * factor });

export const sumOf = bands => bands.reduce((all, each) =>
  ({ low: all.low + each.low, value: all.value + each.value, high: all.high + each.high }), { low: 0, value: 0, high: 0 });

/** `levels`: {from, bytes}; `vectorBytes` 0: instructions are not counted. Null without figures. */
export function energyOf(machine, { types, levels, seconds, vectorBytes }) {
  const figures = machine.energy;
  if (!figures) return null;
  const parts = [], missing = [];
  const add = (name, count, figure, unit) => {
    if (figure) parts.push({ name, count, joules: scaled(figure, count * unit) });
    else missing.push(name);
  };
  let instructions = 0, registerBytes = 0;
  for (const { type, operations } of types) {
    const figure = operationFor(figures, type);
    add(`${type} operations`, operations, figure?.picojoules, kPico);
    if (vectorBytes === 0 || figure?.unit === 'matrix') continue;
    instructions += operations / kOperationsOfALane / Math.max(vectorBytes / bytesOf(type), 1);
    registerBytes += operations / kOperationsOfALane * kOperandsOfAnInstruction * bytesOf(type);
  }
  const ofLevel = name => (figures.bytes ?? []).find(each => each.level === name)?.picojoules;
  if (instructions > 0) {
    add('vector instructions', instructions, figures.instruction, kPico);
    if (registerBytes > 0) add('bytes from registers', registerBytes, ofLevel('registers'), kPico);
  }
  for (const level of levels) if (level.bytes > 0) add(`bytes from ${level.from}`, level.bytes, ofLevel(level.from), kPico);
  if (seconds > 0) add('seconds of constant power', seconds, figures.constant_watts, 1);
  return { parts, missing, joules: sumOf(parts.map(part => part.joules)) };
}
