// This test is long because it runs ticks on four schedulers and kills one.
// A short test of the same code: libs/schedules/src/ticks/run-due-schedules.spec.ts
import { loadConfig, BaseConfig, newId } from '@muster/platform';
import { type ClonedDatabase, cloneDatabase, HttpClient, buildTestEnvironment, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { ServiceProcess } from './service-process';

jest.setTimeout(120_000);

const cronKey = 'a cron secret';

describe('schedules on four schedulers', () => {
  let database: ClonedDatabase;
  let client: Client;
  let schedulers: ServiceProcess[];

  beforeEach(async () => {
    database = await cloneDatabase();
    client = new Client({ connectionString: database.url });
    await client.connect();
  });
  afterEach(async () => {
    await Promise.all(schedulers.map((each) => each.end()));
    await client.end();
    await database.drop();
  });

  const startScheduler = async (env: Record<string, string>) => {
    const environment = buildTestEnvironment(database.url, { CRON_SECRET: cronKey, LOG_LEVEL: 'warn', ...env });
    loadConfig(BaseConfig, environment);
    schedulers = await Promise.all(Array.from({ length: 4 }, () => ServiceProcess.start('scheduler', environment)));
  };
  const callCron = (each: ServiceProcess) =>
    new HttpClient(each.url).with({ 'x-cron-key': cronKey }).post('/api/cron/scheduled-runs');

  /** Creates `count` schedules that are due since the last full minute. */
  async function makeDue(count: number): Promise<void> {
    const [organization, workflow, agent] = [newId(), newId(), newId()];
    await client.query(`INSERT INTO organization (id, name) VALUES ($1, 'Races')`, [organization]);
    await client.query('INSERT INTO organization_settings (organization_id) VALUES ($1)', [organization]);
    await client.query(`INSERT INTO workflow (id, organization_id, name) VALUES ($1, $2, 'w')`, [
      workflow,
      organization,
    ]);
    await client.query(
      `INSERT INTO workflow_revision (workflow_id, revision, organization_id, script, saved_by)
       VALUES ($1, 1, $2, 'print(1)', 'test')`,
      [workflow, organization],
    );
    await client.query(`INSERT INTO agent (id, organization_id, name, status) VALUES ($1, $2, 'a', 'online')`, [
      agent,
      organization,
    ]);
    const due = new Date(Math.floor(Date.now() / 60_000) * 60_000);
    const expression = `${due.getUTCMinutes()} ${due.getUTCHours()} * * *`;
    await client.query(
      `INSERT INTO schedule (id, organization_id, name, workflow_id, agent_id, cron_expression, timezone, next_run_at)
       SELECT gen_random_uuid(), $1, 's' || n, $2, $3, $4, 'UTC', $5 FROM generate_series(1, $6) AS n`,
      [organization, workflow, agent, expression, due, count],
    );
  }

  const countOf = async (sql: string) => Number((await client.query(sql)).rows[0].n);
  const countJobs = () => countOf('SELECT count(*) AS n FROM job');
  /** Number of schedules that do not have exactly one job and one `schedule_run` row for it, or are still due. */
  const countNotRunOnce = () =>
    countOf(
      `SELECT count(*) AS n FROM schedule s
       WHERE (SELECT count(*) FROM job j WHERE j.schedule_id = s.id) <> 1
          OR (SELECT count(*) FROM schedule_run r JOIN job j ON j.id = r.job_id AND j.schedule_id = s.id
              WHERE r.schedule_id = s.id AND r.outcome = 'launched') <> 1
          OR s.next_run_at <= now() OR s.last_run_job_id IS NULL`,
    );

  it('each of 200 due schedules runs once if twenty ticks run concurrently', async () => {
    await makeDue(200);
    await startScheduler({ SCHEDULE_TICK_MS: '100' });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => callCron(schedulers[n % 4]!)));
    for (const { status, body } of answers) expect([status, body.failed]).toEqual([200, []]);
    await waitFor('all jobs', async () => (await countJobs()) >= 200);
    expect([await countJobs(), await countNotRunOnce()]).toEqual([200, 0]);
  });

  it('each due schedule runs once if one scheduler is killed in the middle of a tick', async () => {
    await startScheduler({ SCHEDULE_TICK_MS: '3600000' });
    await makeDue(1000);
    const [victim, ...others] = schedulers as [ServiceProcess, ...ServiceProcess[]];
    const cut = callCron(victim).catch(() => 'cut off');
    await waitFor('the first 20 jobs', async () => (await countJobs()) > 20);
    await victim.end('SIGKILL');
    expect(await cut).toBe('cut off');
    const done = await countJobs();
    expect(done).toBeLessThan(1000);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => callCron(others[n % 3]!)));
    for (const { status, body } of answers) expect([status, body.failed]).toEqual([200, []]);
    expect([await countJobs(), await countNotRunOnce()]).toEqual([1000, 0]);
    expect(answers.reduce((sum, { body }) => sum + body.launched.length, 0)).toBe(1000 - done);
  });
});
