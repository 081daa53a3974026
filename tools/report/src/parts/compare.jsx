// Two reports: their numbers beside each other.

import { change } from '../format.js';
import { numbersOf } from './numbers.jsx';
import { Table } from '../frame.jsx';

/** What one report has that the other lacks has no number there. */
export function Compared({ reports }) {
  const [a, b] = reports.map(numbersOf);
  const rows = a.map((number, k) => ({ name: number.name.replace(', at best', '').replace(', predicted', ''), a: number, b: b[k] }));
  return (
    <Table caption="The numbers of both" rows={rows} columns={[
      { name: 'number', text: row => row.name },
      { name: `A: ${reports[0].title}`, isNumber: true, text: row => row.a.text },
      { name: `B: ${reports[1].title}`, isNumber: true, text: row => row.b.text },
      { name: 'B against A', isNumber: true, text: row => change(row.b.value, row.a.value) || '–' },
      { name: 'B / A', isNumber: true, text: row => (row.a.value > 0 && row.b.value > 0 ? `${Number((row.b.value / row.a.value).toPrecision(3))} x` : '–') },
    ]} />
  );
}
