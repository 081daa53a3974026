// Random changes of machines in the page give the figures that `kawara estimate --machine` gives for the
// changed file.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { editedMachine, noEdits, recomputed } from '../../tools/report/src/what_if.js';

const here = dirname(fileURLToPath(import.meta.url)), examples = join(here, '../../examples');
const [folder] = process.argv.slice(2);
const kSame = 1e-9;

const run = (...words) => JSON.parse(execFileSync(process.env.KAWARA, [...words, '--json'], { encoding: 'utf8', maxBuffer: 1 << 26 }));

let state = 7;
const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
const oneOf = list => list[Math.floor(random() * list.length)];
const factor = () => 2 ** (Math.floor(random() * 25 - 12) / 4);

function randomEdits(machine) {
  const edits = noEdits();
  if (random() < 0.5) edits.peaks = factor();
  if (random() < 0.5) edits.cores = oneOf([1, 2, 3, 5, 8, 16, 48, 64, 96, 132]);
  for (const name of [...machine.levels.map(level => level.name), 'memory']) if (random() < 0.4) edits.bandwidths[name] = factor();
  for (const level of machine.levels) if (random() < 0.4) edits.sizes[level.name] = Math.max(1, Math.round(level.bytes * factor() / 1024)) * 1024;
  return edits;
}

const failures = [];
function same(what, found, wanted) {
  if (typeof wanted === 'number' ? Math.abs(found - wanted) > kSame * Math.abs(wanted) : found !== wanted)
    failures.push(`${what}: ${found}, kawara estimate says ${wanted}`);
}

function compareLimit(what, now, estimated) {
  same(`${what}: time`, now.predicted_ms, estimated.at_best_ms);
  same(`${what}: arithmetic`, now.arithmetic_ms, estimated.arithmetic_ms);
  same(`${what}: memory`, now.levels[0].ms, estimated.memory_ms);
}

function compareCall(what, now, estimated) {
  same(`${what}: time`, now.predicted_ms, estimated.predicted_ms);
  same(`${what}: arithmetic`, now.arithmetic_ms, estimated.arithmetic_ms);
  same(`${what}: starting threads`, now.fork_ms, estimated.fork_ms);
  same(`${what}: threads`, now.threads, estimated.threads);
  estimated.levels.forEach((level, k) => {
    same(`${what}: bytes from ${level.from}`, now.levels[k].predicted, level.bytes);
    same(`${what}: time of ${level.from}`, now.levels[k].ms, level.ms);
  });
}

/** What is asked about, and of which machine. */
const kAsked = [
  ['gemm.kw', 'M=384,N=384,K=384', 'neoverse-v1'],
  ['gemm.kw', 'M=257,N=129,K=65', 'sapphire-rapids', '-s', 'source'],
  ['blur.kw', 'H=540,W=960', 'textbook-45nm'],
  ['conv2d.kw', 'L=1,C=16,H=28,W=28,K=16,R=3,S=3', 'neoverse-n1'],
  ['gemm.kw', 'M=512,N=512,K=512', 'h200'],
];
const kEditsOfEach = 5;

for (const [file, sizes, machine, ...more] of kAsked) {
  const words = [join(examples, file), '-p', sizes, ...more];
  const report = run('explain', ...words, '--machine', machine);
  same(`${file}: nothing changed`, recomputed(report, noEdits()), report);
  for (let k = 0; k < kEditsOfEach; ++k) {
    const edits = randomEdits(report.machine_file), path = join(folder, 'changed_machine.json');
    writeFileSync(path, JSON.stringify(editedMachine(report.machine_file, edits)));
    const now = recomputed(report, edits), estimated = run('estimate', ...words, '--machine', path, '--energy');
    const what = `${file} on ${machine}, ${JSON.stringify(edits)}`;
    (report.is_limit ? compareLimit : compareCall)(what, now, estimated);
    same(`${what}: bound`, now.bound, estimated.bound);
    same(`${what}: energy`, now.energy?.joules.value, estimated.energy.joules?.value);
    const again = run('explain', ...words, '--machine', path);
    same(`${what}: roof`, now.roof_ms, again.roof_ms);
    same(`${what}: the sentence`, now.verdict, again.verdict);
  }
}
failures.forEach(each => console.log(each));
console.log(`what if: ${kAsked.length * kEditsOfEach} changed machines, ${failures.length} figures differ`);
process.exit(failures.length ? 1 : 0);
