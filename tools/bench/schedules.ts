import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { type BenchStack, createDatabase, runOnBenchStack } from './bench-stack';
import { makeBenchTenant } from './bench-tenant';
import { Child } from './child';
import { formatMilliseconds } from './print-report';
import { computeMedian, computePercentile } from './rounds';
import type { SchedulesAnswer } from './schedules-subject';
import { chooseSize } from './short';

// A tick's scan of 100,000 schedules of which 100 are due, compared with 1,000 schedules of which 100 are due.

const target = 1.5;
const rounds = chooseSize(8, 1);
const scans = chooseSize(200, 2);
const sizes = { few: chooseSize(1000, 200), many: chooseSize(100_000, 400) };

void runOnBenchStack(async (stack) => {
  const [few, many] = [await startSubject(stack, sizes.few), await startSubject(stack, sizes.many)];
  const measured = { few: [] as SchedulesAnswer[], many: [] as SchedulesAnswer[] };
  try {
    for (let round = 0; round <= rounds; round += 1) {
      const [below, above] = [
        await few.askQuestion<SchedulesAnswer>({ scans }),
        await many.askQuestion<SchedulesAnswer>({ scans }),
      ];
      if (round === 0) continue;
      measured.few.push(below);
      measured.many.push(above);
    }
    const ratios = measured.many.map(
      ({ scansMs }, at) => computeMedian(scansMs) / computeMedian(measured.few[at]!.scansMs),
    );
    const ratio = computeMedian(ratios);
    const spread = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
    console.log(
      `schedules: a scan of ${sizes.many} takes ${ratio.toFixed(2)} times one of ${sizes.few}, 100 of each due ` +
        `(median of ${rounds} rounds, ${spread}); target ${target}: ${ratio <= target ? 'met' : 'not met'}`,
    );
    const computeScanPercentile = (answers: SchedulesAnswer[], percent: number) =>
      formatMilliseconds(
        computePercentile(
          answers.flatMap(({ scansMs }) => scansMs),
          percent,
        ),
      );
    for (const percent of [50, 99]) {
      console.log(
        `  scan p${percent}: ${computeScanPercentile(measured.many, percent)} to ${computeScanPercentile(measured.few, percent)}`,
      );
    }
    const computeTickMedian = (answers: SchedulesAnswer[]) =>
      formatMilliseconds(computeMedian(answers.map(({ tickMs }) => tickMs)));
    console.log(
      `  a tick that launches the 100: ${computeTickMedian(measured.many)} to ${computeTickMedian(measured.few)}\n`,
    );
  } finally {
    await Promise.all([few.stop(), many.stop()]);
  }
});

/** Creates a database with `schedules` schedules, and starts a process that runs ticks on it. */
async function startSubject(stack: BenchStack, schedules: number): Promise<Child> {
  const databaseUrl = await createDatabase(stack, { migrated: true });
  await makeSchedules({ ...stack, databaseUrl }, schedules);
  return Child.start(join(__dirname, 'schedules-subject.js'), {
    DATABASE_URL: databaseUrl,
    REDIS_URL: stack.redisUrl,
    REDIS_PREFIX: `schedules${schedules}`,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    LOG_LEVEL: 'error',
  });
}

async function makeSchedules(stack: BenchStack, count: number): Promise<void> {
  const { organizationId, workflowId, agentIds } = await makeBenchTenant(stack, 20);
  const client = new Client({ connectionString: stack.databaseUrl });
  await client.connect();
  await client.query(
    `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, variables,
                           next_run_at)
     SELECT gen_random_uuid(), $1, n, $2, ($3::uuid[])[1 + n % 20], '0 0 1 1 *', 'UTC', '{"CLAIM_ID": "C"}',
            timestamptz '2026-01-01T00:00:00Z' + CASE WHEN n <= 100 THEN 0 ELSE n END * interval '1 minute'
     FROM generate_series(1, $4) AS n ORDER BY random()`,
    [organizationId, workflowId, agentIds, count],
  );
  await client.query('VACUUM ANALYZE schedule');
  await client.end();
}
