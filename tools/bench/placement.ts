import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { Client } from 'pg';
import { type BenchStack, createDatabase, runOnBenchStack } from './bench-stack';
import { Child } from './child';
import type { PlacementAnswer, PlacementQuestion } from './placement-subject';
import { formatMilliseconds } from './print-report';
import { computeMedian } from './rounds';
import { chooseSize } from './short';

// Compares the start of a job that any agent with its labels can take with the start of a job that names its agent, with
// 100 and 1,000 machines and 10,000 waiting jobs of each kind.

const sizes = [
  { machines: chooseSize(100, 8), jobs: chooseSize(10_000, 40) },
  { machines: chooseSize(1000, 16), jobs: chooseSize(10_000, 40) },
];
const rounds = chooseSize(15, 1);
const starts = chooseSize(32, 4);
const concurrent = chooseSize(8, 2);
const target = 1.2;

const works: [work: 'freed' | 'launched', name: string][] = [
  ['freed', 'an agent that came free takes a waiting job'],
  ['launched', 'a launched job gets an idle agent'],
];

void runOnBenchStack(async (stack: BenchStack) => {
  const looked: number[][] = [];
  for (const size of sizes) {
    const databaseUrl = await createDatabase(stack, { migrated: true });
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    const subject = await startSubject(stack, databaseUrl);
    try {
      console.log(`placement: ${size.machines} machines, ${size.jobs} waiting jobs of each kind`);
      looked.push(await measureSize(client, subject, size));
    } finally {
      await subject.stop();
      await client.end();
    }
  }
  const [few, many] = looked as [number[], number[]];
  for (const [at, name] of ['freed', 'launched', 'sweep'].entries())
    console.log(
      `placement: rows read with ${sizes[1]!.machines} machines, ${name}: ${(many[at]! / few[at]!).toFixed(2)} times those with ${sizes[0]!.machines}`,
    );
  console.log('');
});

/** Prints the figures of one size, and returns the rows that a start of an unplaced job and a sweep look at. */
async function measureSize(client: Client, subject: Child, size: (typeof sizes)[number]): Promise<number[]> {
  const looked: number[] = [];
  for (const [work, name] of works) {
    const [named, unplaced] = [
      await makeOrganization(client, { ...size, work, unplaced: false }),
      await makeOrganization(client, { ...size, work, unplaced: true }),
    ];
    await vacuumTables(client);
    for (const concurrency of [1, concurrent]) {
      const [below, above]: [number[], number[]] = [[], []];
      for (let round = 0; round <= rounds; round += 1) {
        const one = await askSubject(subject, { work, organizationId: named, unplaced: false, concurrency });
        const other = await askSubject(subject, { work, organizationId: unplaced, unplaced: true, concurrency });
        // The first round warms up the prepared statements; the short form has a single one.
        if (round === 0 && rounds > 1) continue;
        below.push(computeMedian(one.ms));
        above.push(computeMedian(other.ms));
      }
      const ratio = computeMedian(above.map((ms, at) => ms / below[at]!));
      console.log(
        `  ${name}, ${concurrency} at once: named ${formatMilliseconds(computeMedian(below))}, unplaced ` +
          `${formatMilliseconds(computeMedian(above))}; ratio ${ratio.toFixed(2)}, target at most ${target}: ` +
          (ratio <= target ? 'met' : 'not met'),
      );
    }
    const explained = { work, starts: 1, concurrency: 1, explain: true };
    const one = await askSubject(subject, { ...explained, organizationId: named, unplaced: false });
    const other = await askSubject(subject, { ...explained, organizationId: unplaced, unplaced: true });
    console.log(
      `  ${name}: statements ${one.statements} and ${other.statements}, rows read ${one.looked} and ${other.looked}`,
    );
    looked.push(other.looked);
  }
  const [waiting] = (
    await client.query<{ id: string }>(
      `SELECT organization_id AS id FROM job WHERE status = 'queued' AND agent_id IS NULL LIMIT 1`,
    )
  ).rows as [{ id: string }];
  const sweep = { work: 'sweep', organizationId: waiting.id, unplaced: true, concurrency: 1 } as const;
  const [timed, explained] = [
    await askSubject(subject, { ...sweep, starts: 3 }),
    await askSubject(subject, { ...sweep, starts: 1, explain: true }),
  ];
  console.log(
    `  a sweep while no agent is idle: ${formatMilliseconds(computeMedian(timed.ms))}, statements ` +
      `${explained.statements}, rows read ${explained.looked}`,
  );
  return [...looked, explained.looked];
}

function askSubject(
  subject: Child,
  question: Partial<PlacementQuestion> &
    Pick<PlacementQuestion, 'work' | 'organizationId' | 'unplaced' | 'concurrency'>,
): Promise<PlacementAnswer> {
  return subject.askQuestion<PlacementAnswer>({ starts, explain: false, ...question });
}

/** Creates an organization of machines. For freed agents all machines are busy and jobs wait; else all are idle. */
async function makeOrganization(
  client: Client,
  { machines, jobs, work, unplaced }: { machines: number; jobs: number; work: 'freed' | 'launched'; unplaced: boolean },
): Promise<string> {
  const id = randomUUID();
  await client.query('INSERT INTO organization (id, name) VALUES ($1, $2)', [id, `${work} ${unplaced}`]);
  await client.query('INSERT INTO organization_settings (organization_id) VALUES ($1)', [id]);
  await client.query(`INSERT INTO workflow (id, organization_id, name) VALUES ($1, $1, 'Bench')`, [id]);
  await client.query(
    `INSERT INTO workflow_revision (workflow_id, revision, organization_id, script, saved_by)
     VALUES ($1, 1, $1, 'pass', 'bench')`,
    [id],
  );
  await client.query(
    `INSERT INTO agent (id, organization_id, name, status, provider, boot_id, last_seen, status_since, last_activity_at,
                        labels, current_job_id, dispatched_at)
     SELECT md5($1::text || n)::uuid, $1::uuid, 'Agent ' || n, 'online', 'docker', 'boot', now(), now(),
            now() - n * interval '1 second', '{any,north}', CASE WHEN $3 THEN gen_random_uuid() END,
            CASE WHEN $3 THEN now() END
     FROM generate_series(0, $2::int - 1) n`,
    [id, machines, work === 'freed'],
  );
  if (work === 'launched') return id;
  await client.query(
    `INSERT INTO job (id, organization_id, workflow_id, workflow_revision, agent_id, status, queued_at, target_labels,
                      target_prefer, target_group)
     SELECT gen_random_uuid(), $1::uuid, $1::uuid, 1, CASE WHEN NOT $4 THEN md5($1::text || n % $3)::uuid END, 'queued',
            now() - interval '1 day' + n * interval '1 second', CASE WHEN $4 THEN ARRAY['any'] END,
            CASE WHEN $4 THEN 'running' END, CASE WHEN $4 THEN $1::uuid END
     FROM generate_series(0, $2::int - 1) n`,
    [id, jobs, machines, unplaced],
  );
  return id;
}

async function vacuumTables(client: Client): Promise<void> {
  for (const table of ['agent', 'job']) await client.query(`VACUUM (ANALYZE) ${table}`);
}

function startSubject({ redisUrl }: BenchStack, databaseUrl: string): Promise<Child> {
  return Child.start(join(__dirname, 'placement-subject.js'), {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    REDIS_URL: redisUrl,
    PUBLIC_APP_URL: 'http://muster.bench',
    MASTER_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    PORT: '0',
    LOG_LEVEL: 'error',
  });
}
