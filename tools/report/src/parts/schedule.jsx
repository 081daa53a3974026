// The schedule: its directives, its loops, what must stay in order, and what else was considered.

import { mount } from 'theatre';
import { useEffect, useRef } from 'preact/hooks';
import { duration } from '../format.js';
import { Bar, Copyable, Table, useId } from '../frame.jsx';

export const hasTheatre = report => Boolean(mount && report.theatre);
export const hasSchedule = report => Boolean(report.schedule?.tree || report.nests?.length || report.dependences || hasTheatre(report));

function Plans({ nest }) {
  const known = nest.candidates.filter(each => each.seconds != null), longest = Math.max(...known.map(each => each.seconds), 1e-30);
  return (
    <>
      <h4>{nest.statements}: <code>{nest.text}</code></h4>
      <Table caption={`Plans for ${nest.statements}, predicted`} rows={nest.candidates} marked={row => row.chosen} columns={[
        { name: 'plan', text: row => <span>{row.chosen ? <b>{row.rule}, taken</b> : row.rule}
          {row.refused && <small>refused: {row.refused}</small>}{row.directives && <small><Copyable text={row.directives} /></small>}</span>, value: row => row.rule },
        { name: 'predicted', isNumber: true, text: row => (row.seconds == null ? '–' : duration(row.seconds)), value: row => row.seconds ?? Infinity },
        { name: 'time', text: row => (row.seconds == null ? '' : <Bar share={row.seconds / longest} kind={row.chosen ? 'hot' : ''} />) },
        { name: 'bound by', text: row => row.bound ?? '' },
      ]} />
    </>
  );
}

let theatres = 0; // each is a landmark with a name of its own

function Theatre({ report }) {
  const element = useRef(null);
  useEffect(() => {
    const isStill = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const mounted = mount(element.current, report.theatre, { report, reducedMotion: isStill, name: `theatre ${++theatres}` });
    return () => { if (typeof mounted === 'function') mounted(); else mounted?.remove?.(); };
  }, [report.theatre]);
  return <div class="theatre" ref={element} />;
}

export function Schedule({ report }) {
  const { schedule, dependences, nests } = report;
  const ids = { tree: useId('schedule-tree') };
  return (
    <>
      {hasTheatre(report) && <Theatre report={report} />}
      {schedule?.directives?.length > 0 && (
        <details open={schedule.directives.length <= 12}>
          <summary>{schedule.directives.length} directives make these loops</summary>
          <Copyable text={schedule.directives.join('; ')} />
        </details>
      )}
      {schedule?.tree && (
        <>
          <h3 id={ids.tree}>Loops</h3>
          <pre tabIndex={0} role="group" aria-labelledby={ids.tree}>{schedule.tree}</pre>
        </>
      )}
      {dependences && (dependences.length === 0 ? <p>No dependences: every order is legal.</p> : (
        <details open={dependences.length <= 12}>
          <summary>{dependences.length} dependences: what any order has to keep</summary>
          <Table caption="Dependences" rows={dependences} columns={[
            { name: 'from', text: row => `${row.from} → ${row.to}`, value: row => row.from },
            { name: 'kind', text: row => row.kind + (row.is_reduction || row.reduction ? ', reduction' : ''), value: row => row.kind },
            { name: 'array', text: row => <code>{row.array}</code>, value: row => row.array },
            { name: 'distance', text: row => (row.loops?.length ? row.loops.map((loop, k) => `${loop} ${row.distance[k]}`).join(', ') : 'no shared loop') },
          ]} />
        </details>
      ))}
      {nests?.length > 0 && <><h3>Plans that were considered</h3>{nests.map(nest => <Plans nest={nest} />)}</>}
    </>
  );
}
