// Long: kills a process at each boundary of a set.
// Short: apps/e2e/src/services.spec.ts
import { randomBytes } from 'node:crypto';
import { newId } from '@muster/platform';
import { type ClonedDatabase, cloneDatabase, HttpClient, openPool, testEnvironment, waitFor } from '@muster/testing';
import type { Pool, PoolClient } from 'pg';
import { ServiceProcess } from './service-process';

jest.setTimeout(180_000);

const callers = 32;
const password = 'correct horse battery';
/** Ours among the advisory locks. */
const kind = 4244;

/** Where the process is held: at a statement that Postgres has not carried out, or at a commit that it knows nothing of. */
const places = {
  launch: 'CREATE TRIGGER gate_launch BEFORE INSERT ON job',
  'launch’s commit': 'CREATE CONSTRAINT TRIGGER gate_launched AFTER INSERT ON job DEFERRABLE INITIALLY DEFERRED',
  start: 'CREATE TRIGGER gate_start BEFORE INSERT ON agent_command',
  cost: 'CREATE TRIGGER gate_cost BEFORE INSERT ON run_cost',
  'cost’s commit': 'CREATE CONSTRAINT TRIGGER gate_commit AFTER INSERT ON run_cost DEFERRABLE INITIALLY DEFERRED',
};
type Place = keyof typeof places;

/** What a commit promises is begun by the process that made it; the rows are the promise, and here that process dies. */
describe('what follows 32 commits of a process that is killed', () => {
  let database: ClonedDatabase;
  let pool: Pool;
  let service: ServiceProcess;
  let admin: HttpClient;
  let worker: HttpClient;
  let workflowId: string;
  const agentIds: string[] = [];
  const prefix = `t${randomBytes(6).toString('hex')}`;

  const start = async () => {
    const env = {
      ...{ OUTBOX_SWEEP_MS: '200', OUTBOX_REPUBLISH_MS: '2000', LOG_LEVEL: 'warn', DATABASE_POOL_SIZE: '45' },
      ...{ BOOTSTRAP_ORGANIZATION: 'First', BOOTSTRAP_ADMIN_EMAIL: 'one@example.com' },
      ...{ BOOTSTRAP_ADMIN_PASSWORD: password, AGENT_OFFLINE_AFTER_MS: '3600000' },
    };
    service = await ServiceProcess.start('standalone', {
      ...testEnvironment(database.url, env),
      REDIS_PREFIX: prefix,
    });
    admin = admin?.at(service.url) ?? (await new HttpClient(service.url).signIn('one@example.com', password));
  };
  const one = async (sql: string) => (await pool.query<Record<string, number>>(sql)).rows[0]!;

  beforeAll(async () => {
    database = await cloneDatabase();
    pool = openPool(database);
    await pool.query(`
      CREATE FUNCTION pass_set_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [place, trigger] of Object.entries(places)) {
      await pool.query(`${trigger} FOR EACH ROW EXECUTE FUNCTION pass_set_gate('${place}')`);
    }
    await start();
    workflowId = (await admin.post('/api/workflows', { name: 'Claims', script: 'pass' })).body.id;
    for (let at = 0; at < callers; at += 1) {
      const made = await admin.post('/api/agents', { name: newId(), provider: 'external' });
      agentIds.push(made.body.agent.id);
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

  const waiting = async () =>
    (
      await pool.query<{ pid: number }>(
        `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${kind}
           AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
      )
    ).rows.map(({ pid }) => pid);

  /** Kills the process where it waits at the place. What waits there is undone, or, as commits are, carried out. */
  async function killedAt(place: Place, work: () => Promise<unknown>, then: 'undone' | 'carried out'): Promise<void> {
    const keeper: PoolClient = await pool.connect();
    await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, place]);
    await work();
    await waitFor(`somebody at ${place}`, async () => (await waiting()).length > 0);
    await service.end('SIGKILL');
    if (then === 'undone') {
      await pool.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [await waiting()]);
    }
    await keeper.query('SELECT pg_advisory_unlock($1, hashtext($2))', [kind, place]);
    keeper.release();
    await start();
  }

  async function launchAll(): Promise<string[]> {
    const answers = await Promise.all(
      agentIds.map((agentId) => admin.post('/api/jobs/launch', { workflowId, agentId })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    return answers.map(({ body }) => body.jobId);
  }

  async function report(jobIds: string[], status: string): Promise<void> {
    const machines = worker.at(service.url);
    const answers = await Promise.all(jobIds.map((jobId) => machines.post('/api/job-webhook', { jobId, status })));
    expect(answers.map(({ body }) => body)).toEqual(jobIds.map(() => ({ accepted: true, status })));
  }

  const started = (jobIds: string[]) =>
    waitFor('each run’s command', async () => {
      const { rows } = await pool.query('SELECT FROM job WHERE id = ANY($1) AND command_id IS NOT NULL', [jobIds]);
      return rows.length === jobIds.length;
    });
  const settled = (runs: number) =>
    waitFor('each run’s cost', async () => {
      const { costs, messages } = await one(
        `SELECT (SELECT count(*)::int FROM run_cost) AS costs, (SELECT count(*)::int FROM outbox) AS messages`,
      );
      return costs === runs && messages === 0;
    });
  /** Each is counted once, whatever was begun twice. */
  const counted = () =>
    one(`SELECT runs::int, completed::int, (SELECT count(*)::int FROM usage_event WHERE NOT counted) AS uncounted,
           (SELECT sum(total_micros) FROM run_cost)::int - spend_micros::int AS difference FROM usage_counter`);

  let jobIds: string[];
  /** The launches whose process dies get no response. */
  const launchUnanswered = () => {
    const launches = agentIds.map((agentId) => admin.post('/api/jobs/launch', { workflowId, agentId }));
    launching = Promise.allSettled(launches);
    return Promise.resolve();
  };
  let launching: Promise<PromiseSettledResult<unknown>[]>;

  it('has no run of 32 concurrent launches if it dies before their statements are executed', async () => {
    await killedAt('launch', launchUnanswered, 'undone');
    expect(new Set((await launching).map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(await one('SELECT count(*)::int AS jobs FROM job')).toEqual({ jobs: 0 });
  });

  it('has each run of a set whole if it dies before it knows that the set was committed', async () => {
    await killedAt('launch’s commit', launchUnanswered, 'carried out');
    await launching;
    await waitFor('a command for each run', async () => {
      const { jobs, commands } = await one(`SELECT count(*)::int AS jobs, count(command_id)::int AS commands FROM job`);
      return jobs! > 0 && jobs === commands;
    });
    const { jobs, ...others } = await one(
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

  it('gives each run one command, when it dies with the starts under way', async () => {
    await killedAt('start', async () => (jobIds = await launchAll()), 'undone');
    await started(jobIds);
    const { commands } = await one(`SELECT count(*)::int AS commands FROM agent_command WHERE kind = 'run'`);
    expect(commands).toBe(callers);
  });

  it('costs and counts each run once, when it dies in the middle of the set', async () => {
    await report(jobIds, 'running');
    await killedAt('cost', () => report(jobIds, 'completed'), 'undone');
    await settled(callers);
    expect(await counted()).toEqual({ runs: callers, completed: callers, uncounted: 0, difference: 0 });
  });

  it('costs and counts each run once, when it dies before it knows that the set was committed', async () => {
    const more = await launchAll();
    await started(more);
    await report(more, 'running');
    await killedAt('cost’s commit', () => report(more, 'completed'), 'carried out');
    await settled(2 * callers);
    expect(await counted()).toEqual({ runs: 2 * callers, completed: 2 * callers, uncounted: 0, difference: 0 });
  });
});
