// Where the bytes come from: boxes of the machine's memories with arrows between them.

import { amount, digits, percent, size } from '../format.js';
import { bytesFrom, operationsOf, unitOf } from '../data.js';
import { Bar, Figure, Table, useWidth } from '../frame.jsx';

const kMostArrow = 46, kLeastArrow = 3;

function boxesOf(report) {
  const sizes = new Map((report.machine_file?.levels ?? []).map(level => [level.name, size(level.bytes)]));
  return [{ name: 'registers', size: report.machine_file?.register_bytes ? size(report.machine_file.register_bytes) : '' },
    ...report.levels.map(level => ({ name: level.from, size: sizes.get(level.from) ?? '' }))];
}

/** Thick where many bytes pass: by their logarithm, as they differ by powers of ten. */
function arrowWidth(bytes, most) {
  return bytes > 0 ? Math.max(kLeastArrow, kMostArrow * Math.max(0.08, 1 + Math.log10(bytes / most) / 4)) : 1;
}

export function MemoryChart({ report }) {
  const [element, width] = useWidth();
  const boxes = boxesOf(report), { levels } = report;
  const most = Math.max(...levels.map(bytesFrom), 1), operations = operationsOf(report), unit = unitOf(report);
  const isNarrow = width < 560;
  const boxWidth = isNarrow ? width - 130 : Math.min(120, (width - 40) / boxes.length * 0.48);
  const gap = isNarrow ? 64 : (width - boxes.length * boxWidth) / (boxes.length - 1 || 1);
  const boxHeight = isNarrow ? 46 : 84, height = isNarrow ? boxes.length * (boxHeight + gap) - gap + 4 : 150;
  const place = k => (isNarrow ? [4, 2 + k * (boxHeight + gap)] : [k * (boxWidth + gap), 40]);
  const hot = level => level.from === report.bound;
  const last = levels[levels.length - 1];
  const sentence = `${levels.map(level => `${amount(bytesFrom(level), 'B')} from ${level.from}`).join(', ')}` +
    `${operations > 0 ? `: ${digits(bytesFrom(last) / operations, 4)} byte per ${unit} from ${last.from}` : ''}. Arrows are as thick as the logarithm of their bytes.`;
  return (
    <div ref={element}>
      <Figure sentence={sentence} wide>
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Memory chart. ${sentence}`} class="memory">
          {levels.map((level, k) => {
            const bytes = bytesFrom(level), thick = Math.min(arrowWidth(bytes, most), isNarrow ? 60 : boxHeight - 20);
            const [x, y] = place(k), head = Math.min(16, gap * 0.4);
            const tip = isNarrow ? [x + boxWidth / 2, y + boxHeight + 2] : [x + boxWidth + 2, y + boxHeight / 2];
            const points = isNarrow
              ? [[0, 0], [thick / 2 + 6, head], [thick / 2, head], [thick / 2, gap - 4], [-thick / 2, gap - 4], [-thick / 2, head], [-thick / 2 - 6, head]]
              : [[0, 0], [head, -thick / 2 - 6], [head, -thick / 2], [gap - 4, -thick / 2], [gap - 4, thick / 2], [head, thick / 2], [head, thick / 2 + 6]];
            const [textX, textY] = isNarrow ? [tip[0] + thick / 2 + 14, tip[1] + gap / 2] : [tip[0] + gap / 2, y - 22];
            return (
              <g>
                <polygon class={hot(level) ? 'arrow hot' : 'arrow'} points={points.map(([dx, dy]) => `${tip[0] + dx},${tip[1] + dy}`).join(' ')} />
                <text x={textX} y={textY} text-anchor={isNarrow ? 'start' : 'middle'} class="strong">{amount(bytes, 'B')}</text>
                <text x={textX} y={textY + 15} text-anchor={isNarrow ? 'start' : 'middle'} class="soft">
                  {operations > 0 && bytes > 0 ? `${digits(operations / bytes)} ${unit}/B` : ''}
                </text>
              </g>
            );
          })}
          {boxes.map((box, k) => {
            const [x, y] = place(k);
            return (
              <g>
                <rect class={k > 0 && hot(levels[k - 1]) ? 'box hot' : 'box'} x={x + 1} y={y} width={boxWidth - 2} height={boxHeight} rx="6" />
                <text x={x + boxWidth / 2} y={y + boxHeight / 2 - 2} text-anchor="middle" class="strong">{box.name}</text>
                <text x={x + boxWidth / 2} y={y + boxHeight / 2 + 16} text-anchor="middle" class="soft">{box.size}</text>
              </g>
            );
          })}
        </svg>
      </Figure>
    </div>
  );
}

const orDash = (value, unit) => (value == null ? '–' : amount(value, unit));

export function BytesTable({ report }) {
  const hasSimulated = Boolean(report.simulated_label);
  const most = Math.max(...report.levels.map(bytesFrom), 1);
  const columns = [
    { name: 'from', text: level => level.from },
    { name: 'predicted', isNumber: true, text: level => orDash(level.predicted, 'B') },
    ...(hasSimulated ? [
      { name: `simulated, ${report.simulated_label}`, isNumber: true, text: level => orDash(level.simulated, 'B') },
      { name: 'error of the prediction', isNumber: true,
        text: level => (level.simulated > 0 ? percent(level.predicted / level.simulated - 1) : '–') }] : []),
    { name: 'least of any order', isNumber: true, text: level => orDash(level.least, 'B') },
    { name: 'against the least', isNumber: true, text: level => (level.least > 0 ? `${digits(bytesFrom(level) / level.least)} x` : '–') },
    { name: 'bytes', text: level => <Bar share={bytesFrom(level) / most} kind={level.from === report.bound ? 'hot' : ''} /> },
  ];
  return <Table caption="Bytes that come from each level in a call" columns={columns} rows={report.levels} />;
}

export function Duplicates({ all }) {
  if (!all?.length) return null;
  return (
    <>
      <h3>Elements that windows load again</h3>
      <Table caption="How often a statement reads each element of a tensor" rows={all} columns={[
        { name: 'statement', text: each => each.statement },
        { name: 'tensor', text: each => <code>{each.tensor}</code> },
        { name: 'loads', isNumber: true, value: each => each.loads, text: each => amount(each.loads, '') },
        { name: 'elements', isNumber: true, value: each => each.elements, text: each => amount(each.elements, '') },
        { name: 'loads of an element', isNumber: true, value: each => each.factor, text: each => `${digits(each.factor, 4)} x` },
        { name: 'loaded again', isNumber: true, text: each => percent(1 - 1 / Math.max(each.factor, 1)) },
      ]} />
    </>
  );
}
