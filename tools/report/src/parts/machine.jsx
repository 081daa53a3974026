// Whose figures these are, where they come from, and what could not be found out.

import { amount, size, threadsText } from '../format.js';
import { isModel } from '../data.js';
import { Table } from '../frame.jsx';

export function Machine({ report }) {
  const file = report.machine_file;
  return (
    <>
      <p>Figures of <b>{report.machine}</b>, {report.figures}; {threadsText(report.threads)}.{' '}
        {isModel(report) ? 'Times are predictions of default schedules.' : 'Nothing was run: figures are predicted, or counted by simulated caches where the page says so.'}</p>
      {file && (
        <>
          <Table caption="Peaks, operations per second" rows={file.peaks} columns={[
            { name: 'type', text: row => row.type + (row.instruction ? ` (${row.instruction})` : '') },
            { name: 'unit', text: row => row.unit },
            { name: 'one core', isNumber: true, text: row => amount(row.one_core, '').trim() },
            { name: 'all cores', isNumber: true, text: row => amount(row.all_cores, '').trim() },
            { name: 'source', text: row => row.source ?? '' },
          ]} />
          <Table caption="Caches and memory, bytes per second" rows={[...file.levels, { ...file.memory, name: 'memory', title: file.memory.name }]} columns={[
            { name: 'level', text: row => (row.title && row.title !== 'memory' ? `memory (${row.title})` : row.name) },
            { name: 'size', isNumber: true, text: row => (row.bytes > 0 ? size(row.bytes) : '–') },
            { name: 'ways', isNumber: true, text: row => row.ways ?? '–' },
            { name: 'policy', text: row => row.policy ?? '–' },
            { name: 'one core', isNumber: true, text: row => amount(row.one_core, 'B') },
            { name: 'all cores', isNumber: true, text: row => amount(row.all_cores, 'B') },
            { name: 'source', text: row => row.source ?? '' },
          ]} />
        </>
      )}
    </>
  );
}

export function Missing({ all }) {
  return (
    <ul class="missing">
      {all.map(each => <li>{each}</li>)}
    </ul>
  );
}
