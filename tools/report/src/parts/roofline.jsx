// Speed over operations per byte, both on logarithmic axes: what limits it.

import { scaleLog } from 'd3-scale';
import { extent } from 'd3-array';
import { amount, clipped, digits, duration, percent } from '../format.js';
import { bytesFrom, idOf, isModel, operationsOf, unitOf } from '../data.js';
import { hasWork, kernelMs, levelsOf, roofOver } from '../what_if.js';
import { Bar, Figure, Table, useId, useWidth } from '../frame.jsx';

const rateWith = (rates, threads) => (threads <= 1 ? rates.one_core : Math.min(rates.all_cores, rates.one_core * threads));

/** Slopes, nearest level first, with bandwidths in bytes per second. */
function slopesOf(report) {
  if (report.machine_file)
    return levelsOf(report.machine_file).map(level => ({ name: level.name, bandwidth: rateWith(level, report.threads) }))
      .filter(slope => !report.is_limit || slope.name === 'memory');
  return (report.levels ?? []).filter(level => level.ms > 0)
    .map(level => ({ name: level.from, bandwidth: level.predicted / level.ms * 1e3 }));
}

function peakOf(report) {
  if (hasWork(report)) return roofOver(report.work, report.machine_file, report.threads).peak;
  if (report.machine_file) return rateWith(report.machine_file.peaks[0], report.threads);
  return report.arithmetic_ms > 0 ? operationsOf(report) / report.arithmetic_ms * 1e3 : null;
}

const pointAt = (label, operations, bytes, seconds, more = {}) =>
  ({ label, x: operations / bytes, y: operations / seconds, seconds, ...more });

/** The last level that gives any bytes: memory, or the cache that holds all. */
export const outermost = report => report.levels.findLast(level => bytesFrom(level) > 0) ?? report.levels[report.levels.length - 1];

/** Where a program is by each level's bytes, and on the way there where the report says how it came. */
function programPoints(report, name) {
  const operations = operationsOf(report), seconds = report.predicted_ms * 1e-3, outer = outermost(report);
  const place = report.levels.indexOf(outer);
  // Steps are of the machine as it is.
  const way = (report.isChanged ? [] : report.trajectory ?? []).map((step, k) =>
    pointAt(step.label, operations, step.bytes[place], step.ms * 1e-3, { place: k + 1 }));
  const near = report.levels.filter(level => level !== outer)
    .map(level => pointAt(name ? '' : `by bytes from ${level.from}`, operations, bytesFrom(level), seconds, { isNear: true, level: level.from }));
  return [...way, ...near, pointAt(name ?? `by bytes from ${outer.from}`, operations, bytesFrom(outer), seconds, { isMain: true, level: outer.from })];
}

const kernelPoints = report => report.kernels.map((kernel, k) =>
  pointAt(kernel.name, kernel.operations, kernel.bytes, kernelMs(kernel) * 1e-3,
    { id: idOf(kernel, k), share: kernelMs(kernel) * kernel.times, bound: kernel.bound, isRoof: kernel.predicted_ms == null }));

function pictureOf(reports) {
  const report = reports[0];
  const points = reports.flatMap((each, k) => isModel(each) ? kernelPoints(each)
    : programPoints(each, reports.length > 1 ? `${k === 0 ? 'A' : 'B'}: ${each.title}` : undefined))
    .filter(point => point.x > 0 && point.y > 0 && Number.isFinite(point.x) && Number.isFinite(point.y));
  const outer = report.levels && outermost(report);
  const least = outer?.least > 0 ? operationsOf(report) / outer.least : null;
  return { points, least, outer: outer?.from ?? 'memory', slopes: slopesOf(report), peak: peakOf(report), unit: isModel(report) ? 'OP' : unitOf(report) };
}

/** One picture of all reports that are compared. */
// Names beside their dots, the main one first; one that would lie on another is left to its dot's title.
function namesOf(points, x, y, width) {
  const boxes = [];
  const order = [...points.filter(p => p.isMain), ...points.filter(p => !p.isMain).reverse()];
  return order.map(p => {
    const isLeft = x(p.x) > width * 0.6, text = clipped(p.label, 44), long = text.length * 6.6;
    const at = { point: p, text, isLeft, x: x(p.x) + (isLeft ? -11 : 11), y: y(p.y) + (p.isMain ? -12 : 18) };
    const box = { left: isLeft ? at.x - long : at.x, right: isLeft ? at.x : at.x + long, top: at.y - 12, bottom: at.y + 3 };
    if (boxes.some(b => box.left < b.right && b.left < box.right && box.top < b.bottom && b.top < box.bottom)) return null;
    boxes.push(box);
    return at;
  }).filter(Boolean);
}

export function Roofline({ reports, selected, onSelect }) {
  const [element, width] = useWidth();
  const { points, least, outer, slopes, peak, unit } = pictureOf(reports);
  const ids = { sentence: useId('roofline-sentence') };
  if (points.length === 0 || !peak || slopes.length === 0) return null;
  const height = Math.min(430, Math.max(300, width * 0.62)), left = 58, right = 16, top = 18, bottom = 44;
  const bottomSlope = slopes.find(slope => slope.name === outer) ?? slopes[slopes.length - 1], ridge = peak / bottomSlope.bandwidth;
  const [low, high] = extent([...points.map(p => p.x), ridge, ...slopes.map(s => peak / s.bandwidth), ...(least ? [least] : [])]);
  const slow = Math.min(...points.map(p => p.y));
  const x = scaleLog([low / 3, high * 4], [left, width - right]);
  const y = scaleLog([Math.min(slow / 2.5, peak / 200), peak * 2.2], [height - bottom, top]);
  const within = value => Math.max(y.domain()[0], value);
  const start = x.domain()[0];
  const longest = Math.max(...points.map(p => p.share ?? 0), 1e-30);
  const radius = point => (point.share === undefined ? (point.isMain ? 8 : 5) : 3 + 13 * Math.sqrt(point.share / longest));
  const way = points.filter(p => p.place || p.isMain);
  const main = points.find(p => p.isMain) ?? [...points].sort((a, b) => b.share - a.share)[0];
  const attainable = Math.min(peak, bottomSlope.bandwidth * main.x);
  const sentence = `${main.isMain && reports.length === 1 ? reports[0].title : clipped(main.label, 60)}: ${amount(main.y, unit)}/s at ${digits(main.x)} ${unit} per byte${main.isMain ? ` from ${outer}` : ''}, ` +
    `${percent(main.y / attainable)} of what ${main.x < ridge ? `${bottomSlope.name}'s bandwidth` : 'the arithmetic peak'} allows there. ` +
    `The roof's corner is at ${digits(ridge)} ${unit} per byte.` +
    (least ? ` With the least bytes of any order from ${outer} it would be at ${digits(least)}.` : '');
  const ticks = (scale, count) => scale.ticks(count).filter(v => Number.isInteger(Math.round(Math.log10(v) * 1e6) / 1e6));
  return (
    <div ref={element}>
      <Figure sentence={sentence}>
        <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height} role="img" aria-label={`Roofline. ${sentence}`} class="roofline">
          {ticks(x, 8).map(v => <g><line class="grid" x1={x(v)} x2={x(v)} y1={top} y2={height - bottom} />
            <text x={x(v)} y={height - bottom + 16} text-anchor="middle">{digits(v)}</text></g>)}
          {ticks(y, 6).map(v => <g><line class="grid" x1={left} x2={width - right} y1={y(v)} y2={y(v)} />
            <text x={left - 6} y={y(v) + 4} text-anchor="end">{amount(v, '').trim()}</text></g>)}
          <text x={(left + width - right) / 2} y={height - 8} text-anchor="middle">{unit} per byte</text>
          <text transform={`translate(13 ${height / 2}) rotate(-90)`} text-anchor="middle">{unit}/s</text>
          {slopes.map((slope, k) => {
            const begin = Math.max(start, y.domain()[0] / slope.bandwidth), corner = peak / slope.bandwidth;
            if (!(corner > begin)) return null;
            const isLast = slope === bottomSlope;
            const angle = -Math.atan2(y(begin * slope.bandwidth) - y(peak), x(corner) - x(begin)) * 180 / Math.PI;
            const middle = begin * (corner / begin) ** (isLast ? 0.4 : 0.3);
            return (
              <g>
                <line class={isLast ? 'roof' : 'roof near'} x1={x(begin)} y1={y(within(begin * slope.bandwidth))} x2={x(corner)} y2={y(peak)} />
                <text class="roof-name" transform={`translate(${x(middle)} ${y(middle * slope.bandwidth) - 6}) rotate(${angle})`}>
                  {slope.name} {amount(slope.bandwidth, 'B')}/s
                </text>
              </g>
            );
          })}
          <line class="roof" x1={x(peak / slopes[0].bandwidth)} y1={y(peak)} x2={width - right} y2={y(peak)} />
          <text class="roof-name" x={width - right} y={y(peak) - 6} text-anchor="end">peak {amount(peak, unit)}/s</text>
          {least && <g><line class="least" x1={x(least)} x2={x(least)} y1={top} y2={height - bottom} />
            <text class="least-name" x={x(least) + (x(least) > width * 0.75 ? -5 : 5)} y={height - bottom - 8}
              text-anchor={x(least) > width * 0.75 ? 'end' : 'start'}>least bytes of any order from {outer}</text></g>}
          {points.filter(p => p.level).map(p => {
            const slope = slopes.find(each => each.name === p.level);
            return slope && <line class="gap" x1={x(p.x)} x2={x(p.x)} y1={y(p.y)} y2={y(Math.min(peak, slope.bandwidth * p.x))} />;
          })}
          {way.length > 1 && <polyline class="way" points={way.map(p => `${x(p.x)},${y(p.y)}`).join(' ')} />}
          {points.map((p, k) => (
            <circle cx={x(p.x)} cy={y(p.y)} r={radius(p)} class={`dot${p.isMain ? ' main' : ''}${p.isNear ? ' near' : ''}${k > 0 && reports.length > 1 && p.isMain ? ' second' : ''}${p.id !== undefined && p.id === selected ? ' selected' : ''}`}
              onClick={p.id !== undefined ? () => onSelect?.(p.id) : undefined}>
              <title>{`${p.label}: ${duration(p.seconds)}, ${digits(p.x)} ${unit} per byte, ${amount(p.y, unit)}/s`}</title>
            </circle>
          ))}
          {namesOf(points.filter(p => p.place || p.isMain || p.isNear), x, y, width).map(name => (
            <text class={name.point.isNear ? 'dot-name near' : 'dot-name'} x={name.x} y={name.y} text-anchor={name.isLeft ? 'end' : 'start'}>
              {name.text}
            </text>
          ))}
        </svg>
      </Figure>
      <span id={ids.sentence} hidden>{sentence}</span>
    </div>
  );
}

/** How long each limit takes for itself: the table that twins the roofline of a program. */
export function Limits({ report }) {
  const rows = [{ name: 'arithmetic', ms: report.arithmetic_ms }, ...report.levels.map(level => ({ name: level.from, ms: level.ms }))];
  if (report.fork_ms > 0) rows.push({ name: 'starting threads', ms: report.fork_ms });
  const longest = Math.max(...rows.map(row => row.ms));
  return (
    <Table caption="Predicted time of each limit by itself; the longest of each part of the program sets its pace" rows={rows}
      marked={row => row.name === report.bound}
      columns={[
        { name: 'limit', text: row => (row.name === report.bound ? <b>{row.name}, sets the pace</b> : row.name) },
        { name: 'time', isNumber: true, text: row => duration(row.ms * 1e-3), value: row => row.ms },
        { name: 'against the longest', text: row => <Bar share={row.ms / longest} kind={row.name === report.bound ? 'hot' : ''} /> },
      ]} />
  );
}
