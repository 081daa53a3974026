// The kernels of a model, those that take longest first.

import { amount, clipped, digits, duration, percent } from '../format.js';
import { idOf } from '../data.js';
import { kernelMs } from '../what_if.js';
import { Bar, Table } from '../frame.jsx';

const allMs = kernel => kernelMs(kernel) * kernel.times;

export function Kernels({ report, selected, onSelect }) {
  const rows = report.kernels.map((kernel, k) => ({ ...kernel, id: idOf(kernel, k) }));
  const sum = rows.reduce((total, row) => total + allMs(row), 0), most = Math.max(...rows.map(allMs));
  const hasAccesses = rows.some(row => row.accesses != null);
  return (
    <Table caption="Kernels with all their calls; > is of the roof alone" rows={rows} sortedBy={{ name: 'time', isDown: true }}
      marked={row => row.id === selected} onPick={row => onSelect?.(row.id)} columns={[
        { name: 'kernel', text: row => <span>{clipped(row.name, 70)}{row.operators && <small>{clipped(row.operators.map(each => `${each.count} ${each.op}`).join(', '), 80)}</small>}</span>,
          value: row => row.name },
        { name: 'calls', isNumber: true, text: row => row.times, value: row => row.times },
        { name: 'time', isNumber: true, text: row => `${row.predicted_ms == null ? '> ' : ''}${duration(allMs(row) * 1e-3)}`, value: allMs },
        { name: 'share', isNumber: true, text: row => percent(allMs(row) / sum) },
        { name: 'of the time', text: row => <Bar share={allMs(row) / most} /> },
        { name: 'of its roof', isNumber: true, text: row => (row.predicted_ms == null ? '–' : percent(row.least_ms / row.predicted_ms)),
          value: row => (row.predicted_ms == null ? -1 : row.least_ms / row.predicted_ms) },
        { name: 'bound by', text: row => row.bound, value: row => row.bound },
        { name: 'OP/byte', isNumber: true, text: row => digits(row.operations / Math.max(row.bytes, 1)), value: row => row.operations / Math.max(row.bytes, 1) },
        { name: 'bytes a call', isNumber: true, text: row => amount(row.bytes, 'B'), value: row => row.bytes },
        ...(hasAccesses ? [
          { name: 'accesses', isNumber: true, text: row => (row.accesses == null ? '–' : amount(row.accesses, 'B')), value: row => row.accesses ?? -1 },
          { name: 'unique', isNumber: true, text: row => (row.unique == null ? '–' : amount(row.unique, 'B')), value: row => row.unique ?? -1 },
          { name: 'repeat', isNumber: true, text: row => (row.repeat == null ? '–' : `${digits(row.repeat)} x`), value: row => row.repeat ?? -1 }] : []),
        { name: 'energy', isNumber: true, text: row => (row.joules ? amount(row.joules.value * row.times, 'J') : '–'), value: row => (row.joules ? row.joules.value * row.times : -1) },
      ]} />
  );
}

/** Tensors that kernels read and write, in bytes of a call. */
export function Traffic({ kernel }) {
  const rows = [...(kernel.reads ?? []).map(each => ({ ...each, way: 'reads' })), ...(kernel.writes ?? []).map(each => ({ ...each, way: 'writes' }))];
  if (rows.length === 0) return null;
  const most = Math.max(...rows.map(row => row.bytes));
  return (
    <Table caption={`What ${clipped(kernel.name, 60)} reads and writes in a call`} rows={rows} columns={[
      { name: 'tensor', text: row => <code>{clipped(row.tensor, 60)}</code> },
      { name: 'way', text: row => row.way },
      { name: 'bytes', isNumber: true, text: row => amount(row.bytes, 'B'), value: row => row.bytes },
      { name: 'size', text: row => <Bar share={row.bytes / most} /> },
    ]} />
  );
}
