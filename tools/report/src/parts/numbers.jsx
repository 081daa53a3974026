// The sentence, and the numbers that decide.

import { amount, band, change, digits, duration, percent } from '../format.js';
import { bytesFrom, isModel, operationsOf, unitOf } from '../data.js';
import { kernelMs } from '../what_if.js';
import { outermost } from './roofline.jsx';

const sumOver = (kernels, value) => kernels.reduce((sum, kernel) => sum + value(kernel) * kernel.times, 0);

function programNumbers(report) {
  const memory = report.levels[report.levels.length - 1];
  const seconds = report.predicted_ms * 1e-3, operations = operationsOf(report), unit = unitOf(report);
  const moved = bytesFrom(memory), roof = report.roof_ms / report.predicted_ms;
  return [
    { name: report.is_limit ? 'time, at best' : 'time, predicted', value: seconds, text: duration(seconds),
      note: `roof ${duration(report.roof_ms * 1e-3)}` },
    { name: 'speed', value: operations / seconds, text: `${amount(operations / seconds, unit)}/s`,
      note: `${percent(roof)} of the roof`, share: roof },
    { name: 'bytes from memory', value: moved, text: amount(moved, 'B'),
      note: moved === 0 ? `all stays in ${outermost(report).from}` : memory.least > 0 ? `${digits(moved / memory.least)} x the least of any order`
        : memory.simulated != null ? report.simulated_label : 'predicted' },
    { name: `bytes per ${unit}`, value: moved / operations, text: operations > 0 ? digits(moved / operations, 4) : '–',
      note: operations > 0 && moved > 0 ? `${digits(operations / moved)} ${unit} per byte` : '' },
    energyNumber(report.energy?.joules),
  ];
}

function modelNumbers(report) {
  const { kernels } = report;
  const ms = sumOver(kernels, kernelMs), least = sumOver(kernels, kernel => kernel.least_ms);
  const operations = sumOver(kernels, kernel => kernel.operations), bytes = sumOver(kernels, kernel => kernel.bytes);
  const known = kernels.filter(kernel => kernel.joules);
  const joules = known.length === 0 ? null : ['low', 'value', 'high'].reduce((all, end) =>
    ({ ...all, [end]: sumOver(known, kernel => kernel.joules[end]) }), {});
  const before = report.fusion?.before?.bytes;
  return [
    { name: 'time, predicted', value: ms, text: duration(ms * 1e-3),
      note: `${sumOver(kernels, () => 1)} calls of ${kernels.length} kernels` },
    { name: 'speed', value: operations / ms, text: `${amount(operations / ms * 1e3, 'OP')}/s`,
      note: `${percent(least / ms)} of the roof`, share: least / ms },
    { name: 'bytes of tensors', value: bytes, text: amount(bytes, 'B'),
      note: before > 0 ? `${amount(before, 'B')} before fusion` : 'each once a call' },
    { name: 'bytes per OP', value: bytes / operations, text: operations > 0 ? digits(bytes / operations, 4) : '–',
      note: bytes > 0 ? `${digits(operations / bytes)} OP per byte` : '' },
    energyNumber(joules),
  ];
}

const energyNumber = joules => ({ name: 'energy', value: joules?.value, text: joules ? amount(joules.value, 'J') : 'not known',
  note: joules ? `${amount(joules.low, 'J')} to ${amount(joules.high, 'J')}, predicted` : 'no figures of this machine', all: band(joules) });

export const numbersOf = report => (isModel(report) ? modelNumbers(report) : programNumbers(report));

/** `original`: the report before figures were changed. */
export function Numbers({ report, original }) {
  const before = numbersOf(original);
  return (
    <dl class="tiles">
      {numbersOf(report).map((number, k) => {
        const changed = change(number.value, before[k].value);
        return (
          <div class="tile">
            <dt>{number.name}</dt>
            <dd class="value">{number.text}</dd>
            <dd class="more">
              {number.share !== undefined && <meter min="0" max="1" value={Math.min(1, number.share)} aria-label={number.note} />}
              {number.note}
              {changed && <span class="changed"> {changed} against {before[k].text}</span>}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}
