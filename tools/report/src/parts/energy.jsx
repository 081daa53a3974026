// Joules by kind of work, each as the band in which published figures lie.

import { scaleLinear } from 'd3-scale';
import { amount, clipped, digits, percent } from '../format.js';
import { isModel, operationsOf } from '../data.js';
import { Figure, Table, useWidth } from '../frame.jsx';

const kMostRows = 12;

function partsOf(report) {
  const parts = isModel(report)
    ? report.kernels.filter(kernel => kernel.joules).map(({ name, times, joules }) => ({ name, count: times,
      joules: { low: joules.low * times, value: joules.value * times, high: joules.high * times } }))
    : report.energy?.parts ?? [];
  return [...parts].sort((a, b) => b.joules.value - a.joules.value);
}

export const hasEnergy = report => partsOf(report).length > 0;

export function Energy({ report }) {
  const [element, width] = useWidth();
  const parts = partsOf(report), shown = parts.slice(0, kMostRows);
  const all = parts.reduce((sum, part) => sum + part.joules.value, 0);
  const left = Math.min(210, width * 0.36), row = 30, height = shown.length * row + 28;
  const x = scaleLinear([0, Math.max(...shown.map(part => part.joules.high))], [left, width - 14]).nice();
  const operations = isModel(report) ? report.kernels.reduce((sum, k) => sum + k.operations * k.times, 0) : operationsOf(report);
  const sentence = `${amount(all, 'J')} in all${operations > 0 ? `, ${digits(all / operations * 1e12)} pJ an operation` : ''}; most of it is ` +
    `${clipped(parts[0].name, 60)} with ${percent(parts[0].joules.value / all)}. Lines are the band of published figures; nothing was measured.`;
  return (
    <div ref={element}>
      <Figure sentence={sentence} wide>
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Energy. ${sentence}`}>
          {x.ticks(Math.max(2, Math.floor(width / 150))).map(v => <g><line class="grid" x1={x(v)} x2={x(v)} y1={0} y2={height - 24} />
            <text x={x(v)} y={height - 8} text-anchor="middle">{amount(v, 'J')}</text></g>)}
          {shown.map((part, k) => (
            <g transform={`translate(0 ${k * row})`}>
              <text x={left - 8} y={row / 2 + 4} text-anchor="end">{clipped(part.name, Math.floor(left / 7))}</text>
              <rect class="fill" x={left} y={6} width={x(part.joules.value) - left} height={row - 12} rx="2" />
              <path class="whisker" d={`M${x(part.joules.low)} ${row / 2}H${x(part.joules.high)}M${x(part.joules.low)} ${row / 2 - 5}v10M${x(part.joules.high)} ${row / 2 - 5}v10`} />
            </g>
          ))}
        </svg>
      </Figure>
      <Table caption="Energy of a call, predicted" rows={parts} columns={[
        { name: isModel(report) ? 'kernel' : 'work', text: part => clipped(part.name, 60), value: part => part.name },
        { name: isModel(report) ? 'calls' : 'count', isNumber: true, text: part => (isModel(report) ? part.count : amount(part.count, '').trim()), value: part => part.count },
        { name: 'low', isNumber: true, text: part => amount(part.joules.low, 'J') },
        { name: 'value', isNumber: true, text: part => amount(part.joules.value, 'J'), value: part => part.joules.value },
        { name: 'high', isNumber: true, text: part => amount(part.joules.high, 'J') },
        { name: 'share', isNumber: true, text: part => percent(part.joules.value / all) },
      ]} />
      {report.energy?.missing?.length > 0 && <p class="note">Left out, no figure: {report.energy.missing.join(', ')}.</p>}
    </div>
  );
}
