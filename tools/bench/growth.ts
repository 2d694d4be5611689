import { onBenchStack } from './bench-stack';
import { startApp } from './bench-tenant';
import { buffersOf } from './growth/buffers';
import { closeGrowthFixture, type GrowthFixture, openGrowthFixture, prefixOf } from './growth/fixture';
import { measureLoops } from './growth/loops';
import { dispatch, type Measure, reads, writes } from './growth/requests';
import { median } from './rounds';
import { sized } from './short';

// Compares response times in a small organization and in one that is a thousand times as large, in alternating rounds
// on two databases. BENCH_JOBS, BENCH_AGENTS and BENCH_ENTRIES set the size of the large one.

const number = (name: string, fallback: number) => Number(process.env[name] ?? fallback);
const sizes = {
  small: { jobs: sized(1000, 100), agents: sized(100, 60), entries: sized(20_000, 500) },
  large: {
    jobs: number('BENCH_JOBS', sized(1_000_000, 300)),
    agents: number('BENCH_AGENTS', sized(10_000, 80)),
    entries: number('BENCH_ENTRIES', sized(20_000_000, 1000)),
  },
};
const rounds = sized(9, 1);
const target = { ratio: 2, ms: 300 };

interface Row {
  name: string;
  small: number[];
  large: number[];
  /** The large organization's request path. */
  path?: string;
  buffers?: number | null;
}

void onBenchStack(async (stack) => {
  console.log('growth:');
  const small = await openGrowthFixture(stack, 'small', sizes.small);
  const large = await openGrowthFixture(stack, 'large', sizes.large);
  try {
    const rows: Row[] = [];
    const loops = await measureLoops([small, large]);
    const measures = [...reads(small, large), ...writes];
    for (const measure of measures) rows.push(await inTurns(measure, small, large));
    for (const fixture of [small, large]) {
      const env = { REDIS_PREFIX: prefixOf(fixture), INTERNAL_PORT: '0' };
      fixture.apps.push(await startApp('dispatcher', fixture.stack, env));
    }
    rows.push(await inTurns(dispatch, small, large));
    const firsts = rows.filter(({ path }) => path !== undefined);
    const buffers = await buffersOf(
      large,
      firsts.map(({ path }) => path!),
    );
    for (const [at, row] of firsts.entries()) row.buffers = buffers[at];
    for (const name of [...loops.get(large)!.keys()].toSorted()) {
      const roundsOf = (fixture: GrowthFixture) => loops.get(fixture)!.get(name) ?? [];
      if (roundsOf(small).length > 0) {
        rows.push({ name: `loop: ${name}`, small: roundsOf(small), large: roundsOf(large) });
      }
    }
    print(rows);
  } finally {
    await Promise.all([closeGrowthFixture(small), closeGrowthFixture(large)]);
  }
});

/**
 * Measures one request at a time, alternating between the small and the large organization. The first round is a
 * warm-up.
 */
async function inTurns({ name, path, ask }: Measure, small: GrowthFixture, large: GrowthFixture): Promise<Row> {
  const row: Row = { name, path, small: [], large: [] };
  for (let round = 0; round <= rounds; round += 1) {
    const [below, above] = [await ask(small, round), await ask(large, round)];
    if (round === 0) continue;
    row.small.push(below);
    row.large.push(above);
  }
  return row;
}

function print(rows: Row[]): void {
  const cells = ['p50 small', 'p50 large', 'ratio', 'worst', 'pages'];
  console.log(`  ${cells.map((cell) => cell.padStart(11)).join('')}`);
  const missed = { ratio: 0, ms: 0 };
  for (const { name, small, large, buffers } of rows) {
    const ratio = median(large) / median(small);
    const isLoop = name.startsWith('loop');
    const worst = Math.max(...large);
    const faults = [ratio > target.ratio ? 'ratio' : '', !isLoop && worst > target.ms ? 'worst' : ''].filter(Boolean);
    if (faults.includes('ratio')) missed.ratio += 1;
    if (faults.includes('worst')) missed.ms += 1;
    const ms = (value: number) => value.toFixed(1).padStart(11);
    const pages = (buffers ?? '').toLocaleString('en').padStart(11);
    const mark = faults.length > 0 ? `   <- ${faults.join(', ')}` : '';
    console.log(`  ${ms(median(small))}${ms(median(large))}${ms(ratio)}${ms(worst)}${pages}  ${name}${mark}`);
  }
  const verdict = (count: number) => (count === 0 ? 'met' : `not met by ${count} of ${rows.length}`);
  console.log(
    `growth: p50 large ÷ small at most ${target.ratio}: ${verdict(missed.ratio)}; no response over ${target.ms} ms: ${verdict(missed.ms)}\n`,
  );
}
