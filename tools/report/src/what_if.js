// Predicts a call anew for a changed machine. The same sums as src/estimate/predict.cpp and
// roofline.cpp do, over facts that src/explain/what_if.cpp writes: so a figure here is the one that
// `kawara estimate --machine` gives for the changed file. Changes that would need other facts are
// not offered: types' peaks change by one factor, and lines of caches do not.

import { energyOf } from './energy_of.js';
import { duration, percent, threadsText } from './format.js';

export const noEdits = () => ({ peaks: 1, cores: null, bandwidths: {}, sizes: {} });

export const isEdited = edits =>
  edits.peaks !== 1 || edits.cores !== null || Object.values(edits.bandwidths).some(f => f !== 1) ||
  Object.keys(edits.sizes).length > 0;

/** One core is never faster than all, however sums are rounded. */
const times = (rates, one, all) => ({ ...rates, one_core: rates.one_core * one, all_cores: Math.max(rates.all_cores * all, rates.one_core * one) });

/** Files of machines that are no processors need not say how fast one core is: it has its share. */
export function completed(machine) {
  const complete = rates => ({ ...rates, one_core: rates.one_core ?? rates.all_cores / machine.cores });
  return { ...machine, peaks: machine.peaks.map(complete), levels: machine.levels.map(complete), memory: complete(machine.memory) };
}

/** The caches that each core has for itself grow with the number of cores; what is shared stays. */
const isPrivate = level => level.shared_by === 1 || level.name === 'L1';

/** The machine file with the changes in it. */
export function editedMachine(original, edits) {
  const machine = completed(original), more = (edits.cores ?? machine.cores) / machine.cores;
  const factor = name => edits.bandwidths[name] ?? 1;
  return {
    ...machine,
    cores: edits.cores ?? machine.cores,
    peaks: machine.peaks.map(peak => times(peak, edits.peaks, edits.peaks * more)),
    levels: machine.levels.map(level => ({
      ...times(level, factor(level.name), factor(level.name) * (isPrivate(level) ? more : 1)),
      bytes: edits.sizes[level.name] ?? level.bytes,
    })),
    memory: times(machine.memory, factor('memory'), factor('memory')),
  };
}

const rateWith = (rates, threads) =>
  threads <= 1 ? rates.one_core : Math.min(rates.all_cores, rates.one_core * threads);

/** Nearest first, memory last. */
export const levelsOf = machine => [...machine.levels, { ...machine.memory, name: 'memory', bytes: 0 }];

export const threadsOf = (machine, work) =>
  work.most_threads > 0 ? Math.min(machine.cores, work.most_threads) : machine.cores;

const secondsOf = (arithmetic, scale) =>
  (arithmetic.waits ?? []).reduce((sum, wait) => sum + wait.times * Math.max(secondsOf(wait.of, scale), wait.least),
    arithmetic.scaled / scale);

/** What of a function of the capacity holds for that many bytes: steps are [from, value]. */
const at = (steps, bytes) => steps.reduce((value, [from, next]) => (from <= bytes ? next : value), 0);

/** Where threads share loops of these trips, how many of them are busy. */
const parallelOf = (shared, threads) =>
  shared.reduce((most, trips) => Math.max(most, trips / Math.ceil(trips / threads)), 1);

const operationsOf = work => work.types.reduce((sum, type) => sum + type.operations, 0);

/** Nearest cache that holds all tensors, else memory; the peak of the types in their mix. */
export function roofOver(work, machine, threads) {
  const seconds = work.types.reduce((sum, t) => sum + t.operations / rateWith(machine.peaks[t.peak], threads), 0);
  const vectors = machine.peaks.find(peak => peak.type === 'f32') ?? machine.peaks[0];
  const levels = levelsOf(machine);
  const level = machine.levels.find(each => each.bytes >= work.compulsory_bytes) ?? levels[levels.length - 1];
  return { peak: seconds > 0 ? operationsOf(work) / seconds : rateWith(vectors, threads),
    bandwidth: rateWith(level, threads), level: level.name };
}

/** Of a machine for which nothing is scheduled. */
function limitOn(work, machine, threads) {
  const rate = rates => Math.min(rates.all_cores, rates.one_core * threads);
  const arithmetic = work.types.reduce((sum, t) => sum + t.operations / rate(machine.peaks[t.peak]), 0);
  const memory = work.compulsory_bytes / rate(machine.memory);
  return { threads, arithmetic, forks: 0, seconds: Math.max(arithmetic, memory), roofSeconds: Math.max(arithmetic, memory),
    bound: memory > arithmetic ? 'memory' : 'arithmetic', least: Math.max(arithmetic, memory),
    levels: [{ from: 'memory', bytes: work.compulsory_bytes, seconds: memory }] };
}

/** Costs of a call; `before` is the machine that the facts were written for. */
export function predict(work, before, machine) {
  const threads = threadsOf(machine, work);
  if (!work.parts) return limitOn(work, machine, machine.cores);
  const scale = machine.peaks[0].one_core / before.peaks[0].one_core;
  const levels = levelsOf(machine).map(level => ({ from: level.name, rates: level, bytes: 0, seconds: 0 }));
  const spent = new Map();
  const spend = (name, seconds) => spent.set(name, (spent.get(name) ?? 0) + seconds);
  const made = { threads, arithmetic: 0, forks: 0, seconds: 0 };
  for (const part of work.parts) {
    const parallel = parallelOf(part.shared, threads);
    const arithmetic = secondsOf(part.arithmetic, scale) / parallel;
    let slowest = arithmetic, bound = 'arithmetic';
    levels.forEach((level, k) => {
      const bytes = k === 0 ? part.into_registers : at(part.into_cache, machine.levels[k - 1].bytes);
      const seconds = bytes / rateWith(level.rates, parallel);
      level.bytes += bytes;
      level.seconds += seconds;
      if (seconds > slowest) [slowest, bound] = [seconds, level.from];
    });
    const forks = threads > 1 ? part.forks * machine.fork_seconds : 0;
    made.arithmetic += arithmetic;
    made.forks += forks;
    made.seconds += slowest + forks;
    spend(bound, slowest);
    spend('starting threads', forks);
  }
  const roof = roofOver(work, machine, threads);
  const names = [...spent.keys()].sort();
  made.bound = names.reduce((best, name) => (best === '' || spent.get(name) > spent.get(best) ? name : best), '');
  made.levels = levels.map(({ from, bytes, seconds }) => ({ from, bytes, seconds }));
  made.roofSeconds = Math.max(operationsOf(work) / roof.peak, work.compulsory_bytes / roof.bandwidth);
  return made;
}

function verdictOf(report) {
  const seconds = report.predicted_ms * 1e-3;
  if (report.is_limit)
    return `${report.title} takes ${duration(seconds)} on ${report.machine} at best: ${report.bound} sets the limit.`;
  return `${report.title} takes about ${duration(seconds)} with ${threadsText(report.threads)}, ` +
    `${percent(report.roof_ms / report.predicted_ms)} of the roof: ${report.bound || 'nothing'} sets the pace.`;
}

/** Whether it holds what predictions for other machines are made of, not sums alone. */
export const hasWork = each => Array.isArray(each.work?.types);

export const canChange = report =>
  Boolean(report.machine_file && (hasWork(report) ? report.is_limit || report.work.parts : report.kernels?.some(hasWork)));

const isProcessor = machine => machine.kind === 'cpu';

const activityOf = (work, made, machine) =>
  ({ types: work.types, levels: made.levels, seconds: made.seconds, vectorBytes: isProcessor(machine) ? machine.vector_bytes : 0 });

function recomputedProgram(report, machine, edits) {
  const made = predict(report.work, report.machine_file, machine);
  const hasOtherCaches = Object.keys(edits.sizes).length > 0;
  const levels = report.levels.map((level, k) => ({
    ...level,
    predicted: made.levels[k].bytes,
    ms: made.levels[k].seconds * 1e3,
    simulated: hasOtherCaches ? null : level.simulated,
    least: hasOtherCaches ? null : level.least,
  }));
  const now = { ...report, isChanged: true, machine_file: machine, threads: made.threads, levels, bound: made.bound,
    predicted_ms: made.seconds * 1e3, roof_ms: made.roofSeconds * 1e3, arithmetic_ms: made.arithmetic * 1e3,
    fork_ms: made.forks * 1e3,
    energy: report.energy && { ...report.energy, ...energyOf(machine, activityOf(report.work, made, machine)) } };
  return { ...now, verdict: verdictOf(now) };
}

/** Of a kernel without a schedule its roof is known, and the bytes that must come from memory. */
function kernelUnderRoof(work, machine) {
  if (!isProcessor(machine)) return limitOn(work, machine, machine.cores);
  const roof = roofOver(work, machine, threadsOf(machine, work));
  const arithmetic = operationsOf(work) / roof.peak, memory = work.compulsory_bytes / roof.bandwidth;
  return { seconds: Math.max(arithmetic, memory), bound: memory > arithmetic ? roof.level : 'arithmetic' };
}

function recomputedKernel(kernel, report, machine) {
  const { work } = kernel;
  if (!hasWork(kernel)) return kernel;
  const least = kernelUnderRoof(work, machine), made = work.parts ? predict(work, report.machine_file, machine) : null;
  const atLeast = { types: work.types, levels: [{ from: 'memory', bytes: work.compulsory_bytes }], seconds: 0, vectorBytes: 0 };
  return { ...kernel, least_ms: least.seconds * 1e3, predicted_ms: made ? made.seconds * 1e3 : null, bound: made?.bound || least.bound,
    joules: kernel.joules && energyOf(machine, made ? activityOf(work, made, machine) : atLeast)?.joules };
}

/** Steps that run a kernel last as long as it; calls of functions as before. */
function recomputedSteps(steps, before, kernels) {
  const factor = new Map(before.map((kernel, k) =>
    [kernel.id ?? `k${k}`, kernelMs(kernels[k]) / Math.max(kernelMs(kernel), 1e-30)]));
  let start = 0;
  return steps.map(step => {
    const made = { ...step, start_ms: start, duration_ms: step.duration_ms == null ? null : step.duration_ms * (factor.get(step.kernel) ?? 1) };
    start += made.duration_ms ?? 0;
    return made;
  });
}

export const kernelMs = kernel => kernel.predicted_ms ?? kernel.least_ms;

function recomputedModel(report, machine) {
  const kernels = report.kernels.map(kernel => recomputedKernel(kernel, report, machine));
  const all = kernels.reduce((total, kernel) => total + kernelMs(kernel) * kernel.times, 0);
  const longest = kernels.reduce((most, each) => (kernelMs(each) * each.times > kernelMs(most) * most.times ? each : most), kernels[0]);
  return { ...report, machine_file: machine, kernels,
    steps: report.steps && recomputedSteps(report.steps, report.kernels, kernels),
    fusion: report.fusion && { before: { ...report.fusion.before, ms: null }, after: { ...report.fusion.after, ms: null } },
    verdict: `${report.title} takes about ${duration(all * 1e-3)}; ` +
      `${percent(kernelMs(longest) * longest.times / all)} of it is ${longest.name}, bound by ${longest.bound}.` };
}

/** The report of the machine with the changes in it; what nobody knows for it is null. */
export function recomputed(report, edits) {
  if (!canChange(report) || !isEdited(edits)) return report;
  const machine = editedMachine(report.machine_file, edits);
  return hasWork(report) ? recomputedProgram(report, machine, edits) : recomputedModel(report, machine);
}
