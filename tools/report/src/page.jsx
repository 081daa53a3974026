// The page of one report or of two beside each other.

import { Component } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { isModel } from './data.js';
import { Column, Section } from './frame.jsx';
import { canChange, isEdited, noEdits, recomputed } from './what_if.js';
import { Keys, Search } from './search.jsx';
import { BytesTable, Duplicates, MemoryChart } from './parts/bytes.jsx';
import { ChangeBar, changeSummary } from './parts/change.jsx';
import { Compared } from './parts/compare.jsx';
import { Energy, hasEnergy } from './parts/energy.jsx';
import { Edges, Graph, Pairs } from './parts/fusion.jsx';
import { Kernels, Traffic } from './parts/kernels.jsx';
import { Machine, Missing } from './parts/machine.jsx';
import { Numbers } from './parts/numbers.jsx';
import { Limits, Roofline } from './parts/roofline.jsx';
import { hasSchedule, Schedule } from './parts/schedule.jsx';
import { Arena, Timeline } from './parts/timeline.jsx';
import { groupsOf } from './graph.js';
import { idOf } from './data.js';

/** A part that fails says so, and the others stay. */
class Guard extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ error });
  }
  render({ children }, { error }) {
    return error ? <p class="note">This part could not be shown: {String(error.message)}. Its numbers are in the JSON of the report.</p> : children;
  }
}

/** The sections in their order: who has them, and what is in them. */
const kSections = [
  { id: 'kernels', title: 'Kernels', has: isModel, show: (report, pick) => {
    const chosen = report.kernels.find((kernel, k) => idOf(kernel, k) === pick.kernel);
    return <><Kernels report={report} selected={pick.kernel} onSelect={pick.selectKernel} />{chosen && <Traffic kernel={chosen} />}</>;
  } },
  { id: 'bytes', title: 'Where the bytes come from', has: report => !isModel(report), show: report => (
    <><MemoryChart report={report} /><BytesTable report={report} /><Duplicates all={report.duplicates} /></>) },
  { id: 'fusion', title: 'What is fused, and why', has: report => report.graph?.nodes.length > 0,
    show: (report, pick) => (
      <>
        <Graph report={report} selected={pick.group(report)} onSelect={pick.selectGroup(report)} />
        <h3>What is not fused, and what that costs</h3>
        <Edges edges={report.graph.edges.filter(edge => !edge.fused)} caption="Edges between kernels" />
        <details><summary>What is fused, and what that saves</summary>
          <Edges edges={report.graph.edges.filter(edge => edge.fused)} caption="Edges inside of kernels" /></details>
        <Pairs pairs={report.pairs} />
      </>) },
  { id: 'schedule', title: 'Schedule', has: hasSchedule, show: report => <Schedule report={report} /> },
  { id: 'time', title: 'Time', has: report => report.steps?.length > 0,
    show: (report, pick) => <Timeline report={report} selected={pick.kernel} onSelect={pick.selectKernel} /> },
  { id: 'arena', title: 'Memory', has: report => report.arena?.tensors.length > 0, show: report => <Arena report={report} /> },
  { id: 'energy', title: 'Energy', has: hasEnergy, show: report => <Energy report={report} /> },
  { id: 'machine', title: 'Machine and provenance', has: () => true, show: report => <Machine report={report} /> },
  { id: 'missing', title: 'What is missing, and why', has: report => report.missing?.length > 0, show: report => <Missing all={report.missing} /> },
];

function useSelection() {
  const [kernel, selectKernel] = useState(null);
  const [node, selectNode] = useState(null);
  return {
    kernel, selectKernel: id => { selectKernel(id); selectNode(null); },
    node, selectNode,
    /** The group of the graph that is selected, by a node of it or by its kernel. */
    group: report => {
      const { groups, of } = groupsOf(report.graph);
      return node !== null ? of.get(node)?.id : groups.find(group => kernel !== null && group.kernel === kernel)?.id;
    },
    selectGroup: report => id => {
      const group = groupsOf(report.graph).groups.find(each => each.id === id);
      selectNode(id);
      if (group?.kernel != null) selectKernel(group.kernel);
    },
  };
}

function nextTheme() {
  const root = document.documentElement;
  const isDark = (root.dataset.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
  root.dataset.theme = isDark ? 'light' : 'dark';
  dispatchEvent(new Event('kawara-theme'));
}

/** Keys that work wherever the reader is, but not while a text is being typed. */
function useKeys(keys) {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const onKey = event => {
      const isTyping = event.target.closest?.('input:not([type=range]), select, textarea, dialog');
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey || !current.current[event.key]) return;
      event.preventDefault();
      current.current[event.key]();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
}

function goTo(id) {
  const section = document.getElementById(id);
  section?.scrollIntoView({ block: 'start' });
  section?.focus({ preventScroll: true });
}

export function Page({ originals }) {
  const [edits, setEdits] = useState(noEdits());
  const [dialog, setDialog] = useState(null);
  const pick = useSelection();
  const reports = useMemo(() => originals.map(report => recomputed(report, edits)), [originals, edits]);
  const sections = [{ id: 'limits', title: 'What limits it' }, ...kSections.filter(section => reports.some(section.has))];
  const changed = originals.length === 1 && canChange(originals[0]);
  const step = by => {
    const tops = sections.map(({ id }) => document.getElementById(id).getBoundingClientRect().top);
    const here = tops.findLastIndex(top => top < 90);
    goTo(sections[Math.max(0, Math.min(sections.length - 1, here + by))].id);
  };
  useKeys({ '/': () => setDialog('search'), '?': () => setDialog('keys'), j: () => step(1), k: () => step(-1), t: nextTheme,
    w: () => document.querySelector('.what-if button')?.focus() });
  const go = found => {
    setDialog(null);
    if (found.select?.kernel) pick.selectKernel(found.select.kernel);
    if (found.select?.node) pick.selectNode(found.select.node);
    setTimeout(() => goTo(found.section));
  };
  const columns = show => (reports.length === 1 ? <Guard>{show(reports[0], 0)}</Guard> : (
    <div class="columns">{reports.map((report, k) => (
      <Column.Provider value={k === 0 ? '-a' : '-b'}><div><p class="which">{k === 0 ? 'A' : 'B'}: {report.title}</p><Guard>{show(report, k)}</Guard></div></Column.Provider>))}
    </div>));
  return (
    <>
      <a class="skip" href="#limits">To the report</a>
      <header>
        <div class="brand"><b>kawara</b> explain <span>{reports.map(report => report.title).join('  |  ')}</span></div>
        <nav aria-label="Sections">{sections.map(({ id, title }) => <a href={`#${id}`}>{title}</a>)}</nav>
        <div class="tools">
          <button type="button" onClick={() => setDialog('search')}>Search <kbd>/</kbd></button>
          <button type="button" onClick={nextTheme} aria-label="light or dark">◐</button>
          <button type="button" onClick={() => setDialog('keys')} aria-label="keys"><kbd>?</kbd></button>
        </div>
      </header>
      <main id="report">
        {reports.map((report, k) => <h1 class={reports.length > 1 ? 'small' : ''}>{reports.length > 1 && `${k === 0 ? 'A' : 'B'}: `}{report.verdict}</h1>)}
        {reports.length > 1 && <Compared reports={reports} />}
        {columns((report, k) => <Numbers report={report} original={originals[k]} />)}
        {isEdited(edits) && <p class="changed" role="status">These are predictions for a changed machine.</p>}
        <Section id="limits" title="What limits it">
          <div class={reports.length === 1 && !isModel(reports[0]) ? 'beside' : ''}>
            <Guard><Roofline reports={reports} selected={pick.kernel} onSelect={pick.selectKernel} /></Guard>
            {reports.some(report => !isModel(report)) && columns(report => !isModel(report) && <Limits report={report} />)}
          </div>
        </Section>
        {sections.slice(1).map(section => (
          <Section id={section.id} title={section.title}>{columns(report => section.has(report) && section.show(report, pick))}</Section>
        ))}
      </main>
      {changed && <ChangeBar report={originals[0]} edits={edits} onEdits={setEdits} numbers={changeSummary(reports[0], originals[0])} />}
      <Search report={reports[0]} sections={sections} isOpen={dialog === 'search'} onClose={() => setDialog(null)} onGo={go} />
      <Keys isOpen={dialog === 'keys'} onClose={() => setDialog(null)} />
    </>
  );
}
