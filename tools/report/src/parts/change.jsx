// The bar that changes the machine: every number of the page follows at once.

import { useState } from 'preact/hooks';
import { amount, duration, size } from '../format.js';
import { save } from '../data.js';
import { editedMachine, isEdited, levelsOf, noEdits, threadsOf } from '../what_if.js';

const kSteps = 4, kMost = 3; // quarters of a doubling, eight times as much or little

const factorText = factor => `x ${Number(factor.toPrecision(3))}`;

function Slider({ name, label, text, value, onInput, least = -kMost * kSteps, most = kMost * kSteps, isChanged }) {
  return (
    <label class={isChanged ? 'slider changed' : 'slider'}>
      <span>{label}</span>
      <input type="range" name={name} min={least} max={most} step="1" value={value} aria-valuetext={text}
        onInput={event => onInput(Number(event.target.value))} />
      <output>{text}</output>
    </label>
  );
}

const toStep = factor => Math.round(Math.log2(factor) * kSteps);
const toFactor = step => (step === 0 ? 1 : 2 ** (step / kSteps));

/** Caches in bytes that are whole lines. */
const scaledSize = (level, step) => Math.max(1, Math.round(level.bytes * toFactor(step) / 1024)) * 1024;

export function ChangeBar({ report, edits, onEdits, numbers }) {
  const [isOpen, open] = useState(false);
  const machine = report.machine_file;
  const now = editedMachine(machine, edits), cores = now.cores;
  const counts = [...new Set([1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 32, 48, 64, 80, 96, 108, 128, 132, 160, 192, 256, machine.cores])].sort((a, b) => a - b);
  const bandwidth = (name, step) => onEdits({ ...edits, bandwidths: { ...edits.bandwidths, [name]: toFactor(step) } });
  const resize = (level, step) => {
    const { [level.name]: _, ...others } = edits.sizes;
    onEdits({ ...edits, sizes: step === 0 ? others : { ...others, [level.name]: scaledSize(level, step) } });
  };
  const levels = levelsOf(machine).filter(level => !report.is_limit || level.name === 'memory');
  const nowRate = name => levelsOf(now).find(level => level.name === name);
  const threads = report.work ? threadsOf(now, report.work) : cores;
  return (
    <section id="what-if" class={isOpen ? 'what-if open' : 'what-if'} aria-label="What if the machine were another">
      <div class="what-if-head">
        <button type="button" aria-expanded={isOpen} aria-controls="what-if-sliders" onClick={() => open(!isOpen)}>What if …</button>
        <p aria-live="polite">{numbers}</p>
        {isEdited(edits) && <button type="button" onClick={() => onEdits(noEdits())}>as it is</button>}
        {isEdited(edits) && <button type="button" onClick={() => save('machine.json', JSON.stringify(now, null, 2))}>save machine file</button>}
      </div>
      <div id="what-if-sliders" hidden={!isOpen}>
        <Slider name="peaks" label="arithmetic peaks" value={toStep(edits.peaks)} text={factorText(edits.peaks)} isChanged={edits.peaks !== 1}
          onInput={step => onEdits({ ...edits, peaks: toFactor(step) })} />
        <Slider name="cores" label="cores" least={0} most={counts.length - 1} value={counts.indexOf(cores)} isChanged={edits.cores !== null}
          text={threads === cores ? String(cores) : `${cores}, ${threads} threads`}
          onInput={k => onEdits({ ...edits, cores: counts[k] === machine.cores ? null : counts[k] })} />
        {levels.map(level => (
          <Slider name={`bandwidth-${level.name}`} label={`${level.name} bandwidth`} value={toStep(edits.bandwidths[level.name] ?? 1)} isChanged={(edits.bandwidths[level.name] ?? 1) !== 1}
            text={`${amount(nowRate(level.name).all_cores, 'B')}/s`} onInput={step => bandwidth(level.name, step)} />
        ))}
        {!report.is_limit && machine.levels.map(level => (
          <Slider name={`size-${level.name}`} label={`${level.name} size`} value={toStep((edits.sizes[level.name] ?? level.bytes) / level.bytes)} isChanged={level.name in edits.sizes}
            text={size(edits.sizes[level.name] ?? level.bytes)} onInput={step => resize(level, step)} />
        ))}
        <p class="note">As <code>kawara estimate --machine</code> predicts for the changed file; the schedule stays. Peaks of all types change by one factor, also their sums over
          cores; so do caches that a core has for itself when cores do. Plans, simulated and least bytes are those of the machine as it is, and left out where sizes change.</p>
      </div>
    </section>
  );
}

export const changeSummary = (report, original) => (report === original
  ? 'Drag a figure of the machine: every number follows.'
  : `${duration(timeOf(report))} in place of ${duration(timeOf(original))}, bound by ${boundOf(report)}`);

const longestOf = report => [...report.kernels].sort((a, b) => ms(b) - ms(a))[0];
const ms = kernel => (kernel.predicted_ms ?? kernel.least_ms) * kernel.times;
const timeOf = report => (report.kernels ? report.kernels.reduce((sum, kernel) => sum + ms(kernel), 0) : report.predicted_ms) * 1e-3;
const boundOf = report => (report.kernels ? longestOf(report).bound : report.bound || 'nothing');
