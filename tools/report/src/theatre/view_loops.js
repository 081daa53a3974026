// The loops of a schedule as text, with the values that their variables have now.
import { linesOf } from './code_text.js';

const HIGH = 16, MONO = 'ui-monospace, monospace';

/** Lines with `value` (of a loop that runs now) and `isNow` (the statement that ran last). */
export function loopLines(lane) {
  if (!lane.loopText || lane.loopText.order !== lane.order) lane.loopText = { order: lane.order, ...linesOf(lane.program, lane.order) };
  const { lines } = lane.loopText;
  const instance = lane.instance, step = instance < 0 ? -1 : lane.list.step[instance];
  const inside = new Set(lines.find((l) => l.step === step && step >= 0)?.inside || []);
  const values = instance < 0 ? null : lane.valuesOf(instance);
  return lines.map((l, n) => ({
    ...l,
    value: l.loop !== undefined && inside.has(n) ? values[l.loop] : null,
    isNow: l.step !== undefined && l.step === step,
  }));
}

export const heightOf = (lane) => loopLines(lane).length * HIGH + 8;

export function draw(s, lane, _, ink) {
  loopLines(lane).forEach((line, k) => {
    const y = (k + 1) * HIGH - 3;
    if (line.isNow) s.rect(0, y - 12, s.width, HIGH, ink.ground);
    s.text(6 + line.depth * 16, y, line.text, line.isNow ? ink.ink : ink.soft, 11.5, 'start', line.isNow ? 'bold' : 'normal', MONO);
    const note = [line.mark, line.value === null ? '' : `= ${line.value}`].filter(Boolean).join('  ');
    if (note) s.text(s.width - 6, y, note, ink.ink, 11, 'end', 'bold');
  });
}
