// This test is long because it kills a process at each boundary of a set of commits.
// A short test of the same code: apps/e2e/src/services.spec.ts
import { randomBytes } from 'node:crypto';
import { newId } from '@muster/platform';
import {
  type ClonedDatabase,
  cloneDatabase,
  HttpClient,
  openPool,
  buildTestEnvironment,
  waitFor,
} from '@muster/testing';
import type { Pool, PoolClient } from 'pg';
import { ServiceProcess } from './service-process';

jest.setTimeout(180_000);

const callers = 32;
const password = 'correct horse battery';
/** First key of the advisory locks of the pause points. */
const kind = 4244;

/**
 * SQL triggers by pause point. At a pause point, the process waits and the test kills it. It waits before a statement
 * executes, or during a commit, so that it does not learn whether the commit succeeded.
 */
const pausePointTriggers = {
  launch: 'CREATE TRIGGER pause_point_launch BEFORE INSERT ON job',
  'launch’s commit': 'CREATE CONSTRAINT TRIGGER pause_point_launched AFTER INSERT ON job DEFERRABLE INITIALLY DEFERRED',
  start: 'CREATE TRIGGER pause_point_start BEFORE INSERT ON agent_command',
  end: 'CREATE TRIGGER pause_point_end BEFORE INSERT ON usage_event',
  'end’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_ended AFTER INSERT ON usage_event DEFERRABLE INITIALLY DEFERRED',
  cost: 'CREATE TRIGGER pause_point_cost BEFORE INSERT ON run_cost',
  'cost’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_commit AFTER INSERT ON run_cost DEFERRABLE INITIALLY DEFERRED',
};
type PausePoint = keyof typeof pausePointTriggers;

/** Usually, the process that commits starts the follow-up work. If it is killed, the rows must cause the work. */
describe('the follow-up work of 32 commits if the process is killed', () => {
  let database: ClonedDatabase;
  let pool: Pool;
  let service: ServiceProcess;
  let admin: HttpClient;
  let worker: HttpClient;
  let workflowId: string;
  const agentIds: string[] = [];
  const prefix = `t${randomBytes(6).toString('hex')}`;

  const startService = async () => {
    const env = {
      ...{ OUTBOX_SWEEP_MS: '200', OUTBOX_REPUBLISH_MS: '2000', LOG_LEVEL: 'warn', DATABASE_POOL_SIZE: '45' },
      ...{ BOOTSTRAP_ORGANIZATION: 'First', BOOTSTRAP_ADMIN_EMAIL: 'one@example.com' },
      ...{ BOOTSTRAP_ADMIN_PASSWORD: password, AGENT_OFFLINE_AFTER_MS: '3600000' },
    };
    service = await ServiceProcess.start('standalone', {
      ...buildTestEnvironment(database.url, env),
      REDIS_PREFIX: prefix,
    });
    admin = admin?.at(service.url) ?? (await new HttpClient(service.url).signIn('one@example.com', password));
  };
  const queryRow = async (sql: string) => (await pool.query<Record<string, number>>(sql)).rows[0]!;

  beforeAll(async () => {
    database = await cloneDatabase();
    pool = openPool(database);
    await pool.query(`
      CREATE FUNCTION wait_at_set_pause_point() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [pausePoint, trigger] of Object.entries(pausePointTriggers)) {
      await pool.query(`${trigger} FOR EACH ROW EXECUTE FUNCTION wait_at_set_pause_point('${pausePoint}')`);
    }
    await startService();
    workflowId = (await admin.post('/api/workflows', { name: 'Claims', script: 'pass' })).body.id;
    for (let at = 0; at < callers; at += 1) {
      const created = await admin.post('/api/agents', { name: newId(), provider: 'external' });
      agentIds.push(created.body.agent.id);
    }
    await pool.query(`UPDATE agent SET status = 'online', last_seen = now()`);
    const { secret } = (await admin.post('/api/api-keys', { name: 'machines', scope: 'worker' })).body;
    worker = new HttpClient(service.url).with({ 'x-api-key': secret });
  });
  afterAll(async () => {
    await service?.end('SIGKILL');
    await pool?.end();
    await database?.drop();
  });

  const findWaitingBackends = async () =>
    (
      await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      )
    ).rows.map(({ pid }) => pid);

  /**
   * Kills the process while it waits at the pause point. Then Postgres rolls the statements back, or completes the
   * commits.
   */
  async function killAtPausePoint(
    pausePoint: PausePoint,
    work: () => Promise<unknown>,
    then: 'rolled back' | 'completed',
  ): Promise<void> {
    const keeper: PoolClient = await pool.connect();
    await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, pausePoint]);
    await work();
    await waitFor(`a statement at the pause point ${pausePoint}`, async () => (await findWaitingBackends()).length > 0);
    await service.end('SIGKILL');
    if (then === 'rolled back') {
      await pool.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [
        await findWaitingBackends(),
      ]);
    }
    await keeper.query('SELECT pg_advisory_unlock($1, hashtext($2))', [kind, pausePoint]);
    keeper.release();
    await startService();
  }

  async function launchAll(): Promise<string[]> {
    const answers = await Promise.all(
      agentIds.map((agentId) => admin.post('/api/jobs/launch', { workflowId, agentId })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    return answers.map(({ body }) => body.jobId);
  }

  async function reportStatus(jobIds: string[], status: string): Promise<void> {
    const machines = worker.at(service.url);
    const answers = await Promise.all(jobIds.map((jobId) => machines.post('/api/job-webhook', { jobId, status })));
    expect(answers.map(({ body }) => body)).toEqual(jobIds.map(() => ({ accepted: true, status })));
  }

  const waitUntilStarted = (jobIds: string[]) =>
    waitFor('each run’s command', async () => {
      const { rows } = await pool.query('SELECT FROM job WHERE id = ANY($1) AND command_id IS NOT NULL', [jobIds]);
      return rows.length === jobIds.length;
    });
  const waitUntilCostsBooked = (runs: number) =>
    waitFor('each run’s cost', async () => {
      const { costs, messages } = await queryRow(
        `SELECT (SELECT count(*)::int FROM run_cost) AS costs, (SELECT count(*)::int FROM outbox) AS messages`,
      );
      return costs === runs && messages === 0;
    });
  /** Reads the usage counter, with the number of uncounted usage events and its difference from the costs. */
  const readUsageCounter = () =>
    queryRow(`SELECT runs::int, completed::int, (SELECT count(*)::int FROM usage_event WHERE NOT counted) AS uncounted,
           (SELECT sum(total_micros) FROM run_cost)::int - spend_micros::int AS difference FROM usage_counter`);

  let jobIds: string[];
  /** Launches runs in a process that is then killed, so the requests get no response. */
  const launchUnanswered = () => {
    const launches = agentIds.map((agentId) => admin.post('/api/jobs/launch', { workflowId, agentId }));
    launching = Promise.allSettled(launches);
    return Promise.resolve();
  };
  let launching: Promise<PromiseSettledResult<unknown>[]>;
  const endUnanswered = (ids: string[]) => {
    const machines = worker.at(service.url);
    ending = Promise.allSettled(ids.map((jobId) => machines.post('/api/job-webhook', { jobId, status: 'completed' })));
    return Promise.resolve();
  };
  let ending: Promise<PromiseSettledResult<unknown>[]>;

  it('32 concurrent launches create no run if the process dies before their statements execute', async () => {
    await killAtPausePoint('launch', launchUnanswered, 'rolled back');
    expect(new Set((await launching).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await queryRow('SELECT count(*)::int AS jobs FROM job')).toEqual({ jobs: 0 });
  });

  it('concurrent launches create only complete runs if the process dies before it learns of the commit', async () => {
    await killAtPausePoint('launch’s commit', launchUnanswered, 'completed');
    await launching;
    await waitFor('a command for each run', async () => {
      const { jobs, commands } = await queryRow(
        `SELECT count(*)::int AS jobs, count(command_id)::int AS commands FROM job`,
      );
      return jobs! > 0 && jobs === commands;
    });
    const { jobs, ...others } = await queryRow(
      `SELECT count(*)::int AS jobs, (SELECT count(*)::int FROM job_log_seen) AS logs,
              (SELECT count(*)::int FROM audit_entry WHERE action = 'job.launch') AS audits,
              (SELECT count(*)::int FROM timeline_entry WHERE message = 'queued') AS entries,
              (SELECT count(*)::int FROM agent_command WHERE kind = 'run') AS commands FROM job`,
    );
    expect(others).toEqual({ logs: jobs, audits: jobs, entries: jobs, commands: jobs });
    await pool.query('DELETE FROM agent_command');
    await pool.query('UPDATE agent SET current_job_id = NULL, dispatched_at = NULL');
    await pool.query('DELETE FROM job');
  });

  it('each run gets one command if the process is killed while it starts several runs together', async () => {
    await killAtPausePoint('start', async () => (jobIds = await launchAll()), 'rolled back');
    await waitUntilStarted(jobIds);
    const { commands } = await queryRow(`SELECT count(*)::int AS commands FROM agent_command WHERE kind = 'run'`);
    expect(commands).toBe(callers);
  });

  it('none of 32 runs has ended if the process dies before the statements that end the runs execute', async () => {
    await reportStatus(jobIds, 'running');
    await killAtPausePoint('end', () => endUnanswered(jobIds), 'rolled back');
    expect(new Set((await ending).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(
      await queryRow(
        `SELECT (SELECT count(*)::int FROM job WHERE status = 'running') AS running,
                (SELECT count(*)::int FROM usage_event) AS usage,
                (SELECT count(*)::int FROM agent WHERE current_job_id IS NOT NULL) AS working`,
      ),
    ).toEqual({ running: callers, usage: 0, working: callers });
  });

  it('each run’s cost is booked and counted once if the process is killed while it books the costs of several runs', async () => {
    await killAtPausePoint('cost', () => reportStatus(jobIds, 'completed'), 'rolled back');
    await waitUntilCostsBooked(callers);
    expect(await readUsageCounter()).toEqual({ runs: callers, completed: callers, uncounted: 0, difference: 0 });
  });

  it('each run’s cost is booked and counted once if the process dies before it learns that the costs are committed', async () => {
    const more = await launchAll();
    await waitUntilStarted(more);
    await reportStatus(more, 'running');
    await killAtPausePoint('cost’s commit', () => reportStatus(more, 'completed'), 'completed');
    await waitUntilCostsBooked(2 * callers);
    expect(await readUsageCounter()).toEqual({
      runs: 2 * callers,
      completed: 2 * callers,
      uncounted: 0,
      difference: 0,
    });
  });

  it('each run ends once if the process dies before it learns of the commit and the workers report the ends again', async () => {
    const more = await launchAll();
    await waitUntilStarted(more);
    await reportStatus(more, 'running');
    await killAtPausePoint('end’s commit', () => endUnanswered(more), 'completed');
    await ending;
    const { ended } = await queryRow(
      `SELECT count(*)::int - ${2 * callers} AS ended FROM usage_event WHERE kind = 'run'`,
    );
    expect(ended).toBeGreaterThan(0);
    const machines = worker.at(service.url);
    const answers = await Promise.all(
      more.map((jobId) => machines.post('/api/job-webhook', { jobId, status: 'completed' })),
    );
    expect(answers.filter(({ body }) => body.accepted)).toHaveLength(callers - ended!);
    await waitUntilCostsBooked(3 * callers);
    const runs = 3 * callers;
    expect(await readUsageCounter()).toEqual({ runs, completed: runs, uncounted: 0, difference: 0 });
    expect(
      await queryRow(
        `SELECT (SELECT count(*)::int FROM timeline_entry WHERE message = 'completed') AS entries,
                (SELECT count(*)::int FROM agent WHERE current_job_id IS NOT NULL) AS working`,
      ),
    ).toEqual({ entries: runs, working: 0 });
  });
});
