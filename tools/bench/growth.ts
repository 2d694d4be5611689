import { runOnBenchStack } from './bench-stack';
import { startApp } from './bench-tenant';
import { countBuffers } from './growth/buffers';
import { closeGrowthFixture, type GrowthFixture, openGrowthFixture, getRedisPrefix } from './growth/fixture';
import { measureLoops } from './growth/loops';
import { dispatch, type Measure, listMeasures, writes } from './growth/requests';
import { computeMedian } from './rounds';
import { chooseSize } from './short';

// Compares response times in a small organization and in one that is a thousand times as large, in alternating rounds
// on two databases. BENCH_JOBS, BENCH_AGENTS and BENCH_ENTRIES set the size of the large one.

const readNumber = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const sizes = {
  small: { jobs: chooseSize(1000, 100), agents: chooseSize(100, 60), entries: chooseSize(20_000, 500) },
  large: {
    jobs: readNumber('BENCH_JOBS', chooseSize(1_000_000, 300)),
    agents: readNumber('BENCH_AGENTS', chooseSize(10_000, 80)),
    entries: readNumber('BENCH_ENTRIES', chooseSize(20_000_000, 1000)),
  },
};
const rounds = chooseSize(9, 1);
const target = { ratio: 2, ms: 300 };

interface Row {
  name: string;
  small: number[];
  large: number[];
  /** Path of the request that is sent to the large organization. */
  path?: string;
  buffers?: number | null;
}

void runOnBenchStack(async (stack) => {
  console.log('growth:');
  const small = await openGrowthFixture(stack, 'small', sizes.small);
  const large = await openGrowthFixture(stack, 'large', sizes.large);
  try {
    const rows: Row[] = [];
    const loops = await measureLoops([small, large]);
    const measures = [...listMeasures(small, large), ...writes];
    for (const measure of measures) rows.push(await measureInTurns(measure, small, large));
    for (const fixture of [small, large]) {
      const env = { REDIS_PREFIX: getRedisPrefix(fixture), INTERNAL_PORT: '0' };
      fixture.apps.push(await startApp('dispatcher', fixture.stack, env));
    }
    rows.push(await measureInTurns(dispatch, small, large));
    const firsts = rows.filter(({ path }) => path !== undefined);
    const buffers = await countBuffers(
      large,
      firsts.map(({ path }) => path!),
    );
    for (const [at, row] of firsts.entries()) row.buffers = buffers[at];
    for (const name of [...loops.get(large)!.keys()].toSorted()) {
      const measureRounds = (fixture: GrowthFixture) => loops.get(fixture)!.get(name) ?? [];
      if (measureRounds(small).length > 0) {
        rows.push({ name: `loop: ${name}`, small: measureRounds(small), large: measureRounds(large) });
      }
    }
    printRows(rows);
  } finally {
    await Promise.all([closeGrowthFixture(small), closeGrowthFixture(large)]);
  }
});

/**
 * Measures one request at a time, alternating between the small and the large organization. The first round is a
 * warm-up.
 */
async function measureInTurns({ name, path, ask }: Measure, small: GrowthFixture, large: GrowthFixture): Promise<Row> {
  const row: Row = { name, path, small: [], large: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const [below, above] = [await ask(small, round), await ask(large, round)];
    if (round === 0) continue;
    row.small.push(below);
    row.large.push(above);
  }
  return row;
}

function printRows(rows: Row[]): void {
  const cells = ['p50 small', 'p50 large', 'ratio', 'worst', 'pages'];
  console.log(`  ${cells.map((cell) => cell.padStart(11)).join('')}`);
  const missed = { ratio: 0, ms: 0 };
  for (const { name, small, large, buffers } of rows) {
    const ratio = computeMedian(large) / computeMedian(small);
    const isLoop = name.startsWith('loop');
    const worst = Math.max(...large);
    const faults = [ratio > target.ratio ? 'ratio' : '', !isLoop && worst > target.ms ? 'worst' : ''].filter(Boolean);
    if (faults.includes('ratio')) missed.ratio += 1;
    if (faults.includes('worst')) missed.ms += 1;
    const formatMs = (value: number) => value.toFixed(1).padStart(11);
    const pages = (buffers ?? '').toLocaleString('en').padStart(11);
    const mark = faults.length > 0 ? `   <- ${faults.join(', ')}` : '';
    console.log(
      `  ${formatMs(computeMedian(small))}${formatMs(computeMedian(large))}${formatMs(ratio)}${formatMs(worst)}${pages}  ${name}${mark}`,
    );
  }
  const formatVerdict = (count: number) => (count === 0 ? 'met' : `not met by ${count} of ${rows.length}`);
  console.log(
    `growth: p50 large ÷ small at most ${target.ratio}: ${formatVerdict(missed.ratio)}; no response over ${target.ms} ms: ${formatVerdict(missed.ms)}\n`,
  );
}
