// The report that the page holds, as one JSON text or deflated.

import { completed } from './what_if.js';

const kElement = 'report-data';

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), each => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return new Response(stream).text();
}

/** All reports of the page, one or two. */
export async function readReports() {
  const element = document.getElementById(kElement);
  const text = element.dataset.encoding === 'deflate-raw' ? await inflated(element.textContent.trim()) : element.textContent;
  const json = JSON.parse(text);
  return (json.reports ?? [json]).map(report => (report.machine_file ? { ...report, machine_file: completed(report.machine_file) } : report));
}

export const isModel = report => Array.isArray(report.kernels);

/** Operations of a call and what they are called. */
export const operationsOf = report => (report.flops ?? 0) + (report.int_ops ?? 0);
export const unitOf = report => (report.int_ops > 0 ? 'OP' : 'FLOP');

/** Bytes from a level: counted where they were, else predicted. */
export const bytesFrom = level => level.simulated ?? level.predicted;

export const idOf = (kernel, place) => kernel.id ?? `k${place}`;

/** Hands text to the reader as a file. */
export function save(name, text, type = 'application/json') {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
