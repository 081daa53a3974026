// Counts of the page's simulator: reads a list of {program, schedule, caches} from standard input, writes what it counts.
import { simulate } from '../../tools/report/src/theatre/simulate.js';

let text = '';
for await (const part of process.stdin) text += part;
const { programs, asked } = JSON.parse(text);
const answers = asked.map(({ program, schedule, caches }) => {
  const data = programs[program];
  return simulate(data, caches ?? data.caches, data.schedules[schedule]);
});
process.stdout.write(JSON.stringify(answers));
