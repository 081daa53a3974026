// The simulator of the page against what the one in src/cache is known to count.
import assert from 'node:assert/strict';
import test from 'node:test';
import { record, simulate } from '../../tools/report/src/theatre/simulate.js';
import { trace } from '../../tools/report/src/theatre/trace.js';
import { asWritten, inTiles, productReads, touchesOf } from './programs.mjs';

const cacheOf = (lines, ways, policy = 'lru') => ({ bytes: lines * 64, line_bytes: 64, ways, policy });

/** h for each hit, else which miss it was: f first, a capacity, o conflict. */
function outcome(lines, cache) {
  const { program, order } = touchesOf(lines);
  const { levels } = simulate(program, [cache], order);
  return levels[0].references.map((c) => (c.compulsory ? 'f' : c.capacity ? 'a' : c.conflict ? 'o' : 'h')).join('');
}

test('lru puts out what was used longest ago', () => assert.equal(outcome([1, 2, 1, 3, 1, 2], cacheOf(2, 2)), 'ffhfha'));
test('fifo puts out what came first', () => assert.equal(outcome([1, 2, 1, 3, 1, 2], cacheOf(2, 2, 'fifo')), 'ffhfoa'));
test('the tree puts out where its bits point', () => {
  assert.equal(outcome([1, 2, 3, 4, 3, 5, 2], cacheOf(4, 4, 'plru')), 'ffffhfo');
  assert.equal(outcome([1, 2, 3, 4, 3, 5, 1], cacheOf(4, 4, 'plru')), 'ffffhfh');
});
test('conflict is not capacity', () => {
  assert.equal(outcome([0, 2, 4, 0], cacheOf(4, 2)), 'fffo');
  assert.equal(outcome([0, 1, 2, 3, 4, 0], cacheOf(4, 2)), 'fffffa');
});
test('changed lines are written back once', () => {
  const { program, order } = touchesOf([-1, -1, 2, 3, 1, 2]);
  const { levels } = simulate(program, [cacheOf(1, 1), cacheOf(4, 0)], order);
  assert.deepEqual(levels[0].lines_out, [1]);
  assert.equal(levels[0].references[2].written_back, 1);
  assert.equal(levels[1].received, 1);
  assert.equal(levels[1].not_there, 0);
  assert.equal(levels[1].references[4].hits, 1);
});
test('stores go through or around', () => {
  const through = touchesOf([-1, -1, 1]), around = touchesOf([-1, 1, -1]);
  const a = simulate(through.program, [{ ...cacheOf(2, 2), writes_back: false }], through.order).levels[0];
  assert.equal(a.passed_on, 2);
  assert.equal(a.references[1].hits, 1);
  const b = simulate(around.program, [{ ...cacheOf(2, 2), allocates: false }], around.order).levels[0];
  assert.equal(b.passed_on, 1);
  assert.deepEqual(b.references.map((c) => c.hits), [0, 0, 1]);
});

const words = (count) => ({ bytes: count * 4, line_bytes: 4, ways: 0, policy: 'lru' });
const bytesPerFlop = (order, count) => {
  const made = simulate(productReads(100), [words(count)], order);
  assert.equal(made.flops, 2e6);
  return (made.levels[0].bytes_in / made.flops).toFixed(2);
};
test('bytes per FLOP of a product of 100 x 100: 4.0 to 0.04', () => {
  const sizes = [1, 256, 1024, 4096, 12000];
  assert.deepEqual(sizes.map((n) => bytesPerFlop(asWritten(100), n)), ['4.00', '2.02', '2.02', '2.02', '0.04']);
  assert.deepEqual(sizes.map((n) => bytesPerFlop(inTiles(100, 10), n)), ['4.00', '0.40', '0.40', '0.22', '0.04']);
});

test('a recording adds up to the counts', () => {
  const program = productReads(16), list = trace(program, inTiles(16, 4));
  const caches = [{ bytes: 256, line_bytes: 16, ways: 2, policy: 'lru' }, { bytes: 1024, line_bytes: 16, ways: 4, policy: 'plru' }];
  const seen = record(program, caches, list), n = list.accesses;
  const once = simulate(program, caches, inTiles(16, 4));
  assert.deepEqual(seen.counts, once.levels);
  for (const l of [0, 1]) assert.equal(seen.misses[l][n] * 16, once.levels[l].bytes_in);
  assert.equal(seen.kind.filter((k) => k === 3).length, once.levels[0].conflict);
});

test('a million accesses take well below a second', () => {
  const program = productReads(80), list = trace(program, asWritten(80));
  const begin = performance.now();
  simulate(program, [{ bytes: 4096, line_bytes: 64, ways: 8, policy: 'lru' }], asWritten(80));
  const ms = performance.now() - begin;
  console.log(`${list.accesses} accesses in ${ms.toFixed(0)} ms`);
  assert.ok(ms < 2000);
});
