// This test is long because it kills a process at each boundary of the starts and ends of runs with an account.
// A short test of the same code: libs/jobs/src/accounts/accounts.spec.ts
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

const password = 'correct horse battery';
/** First key of the advisory locks of the pause points. */
const kind = 4245;

/**
 * SQL triggers by pause point. At a pause point, the process waits and the test kills it: before the statement that
 * assigns or returns an account, or during its commit.
 */
const pausePointTriggers = {
  assignment: 'CREATE TRIGGER pause_point_assignment BEFORE UPDATE OF account ON account_use',
  'assignment’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_assigned AFTER UPDATE OF account ON account_use DEFERRABLE INITIALLY ' +
    'DEFERRED',
  return: 'CREATE TRIGGER pause_point_back BEFORE UPDATE OF until ON account_use',
  'return’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_is_back AFTER UPDATE OF until ON account_use DEFERRABLE INITIALLY DEFERRED',
};
type PausePoint = keyof typeof pausePointTriggers;

describe('runs on one account if the process is killed', () => {
  let database: ClonedDatabase;
  let pool: Pool;
  let service: ServiceProcess;
  let admin: HttpClient;
  let worker: HttpClient;
  const prefix = `t${randomBytes(6).toString('hex')}`;

  const startService = async () => {
    const env = {
      ...{ OUTBOX_SWEEP_MS: '200', OUTBOX_REPUBLISH_MS: '2000', DISPATCH_SWEEP_MS: '500', LOG_LEVEL: 'warn' },
      ...{ BOOTSTRAP_ORGANIZATION: 'First', BOOTSTRAP_ADMIN_EMAIL: 'one@example.com' },
      ...{ BOOTSTRAP_ADMIN_PASSWORD: password, AGENT_OFFLINE_AFTER_MS: '3600000' },
    };
    service = await ServiceProcess.start('standalone', {
      ...buildTestEnvironment(database.url, env),
      REDIS_PREFIX: prefix,
    });
    admin = admin?.at(service.url) ?? (await new HttpClient(service.url).signIn('one@example.com', password));
  };

  beforeAll(async () => {
    database = await cloneDatabase();
    pool = openPool(database);
    await pool.query(`
      CREATE FUNCTION wait_at_account_pause_point() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [pausePoint, trigger] of Object.entries(pausePointTriggers)) {
      await pool.query(`${trigger} FOR EACH ROW EXECUTE FUNCTION wait_at_account_pause_point('${pausePoint}')`);
    }
    await startService();
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

  /** Kills the process while it waits at the pause point, and then rolls back or completes its transaction. */
  async function killAtPausePoint(pausePoint: PausePoint, work: () => Promise<unknown>): Promise<void> {
    const keeper: PoolClient = await pool.connect();
    await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, pausePoint]);
    const working = work().catch(() => undefined);
    await waitFor(`a statement at the pause point ${pausePoint}`, async () => (await findWaitingBackends()).length > 0);
    await service.end('SIGKILL');
    await working;
    if (!pausePoint.endsWith('commit')) {
      await pool.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [
        await findWaitingBackends(),
      ]);
    }
    await keeper.query('SELECT pg_advisory_unlock($1, hashtext($2))', [kind, pausePoint]);
    keeper.release();
    await startService();
  }

  it('a portal account is used by one run at a time and is free at the end, at whatever point a process is killed', async () => {
    const account = `account ${newId()}`;
    await admin.put('/api/vault/DD_PASS_1', { value: 'hunter2-of-the-vault' });
    const put = await admin.put(`/api/accounts/${encodeURIComponent(account)}`, {
      pool: 'delta-dental',
      vaultKeys: { password: 'DD_PASS_1' },
    });
    expect(put.status).toBe(200);
    const accounts = [{ pool: 'delta-dental', as: 'PORTAL' }];
    const { id: workflowId } = (await admin.post('/api/workflows', { name: 'Claims', script: 'pass', accounts })).body;
    const agentIds: string[] = [];
    for (let at = 0; at < 6; at += 1) {
      const created = await admin.post('/api/agents', { name: newId(), provider: 'external' });
      agentIds.push(created.body.agent.id);
    }
    await pool.query(`UPDATE agent SET status = 'online', last_seen = now()`);
    const launchAll = () =>
      Promise.all(agentIds.map((agentId) => admin.post('/api/jobs/launch', { workflowId, agentId })));
    const findAccountHolders = async () =>
      (
        await pool.query<{ jobId: string }>(
          `SELECT u.job_id AS "jobId" FROM account_use u JOIN job j ON j.id = u.job_id
           WHERE u.since IS NOT NULL AND u.until IS NULL AND j.command_id IS NOT NULL`,
        )
      ).rows.map(({ jobId }) => jobId);
    const waitForAccountHolder = () =>
      waitFor('a run to have the account', async () => (await findAccountHolders())[0], 30_000);
    const reportCompletion = (jobId: string) =>
      worker.at(service.url).post('/api/job-webhook', { jobId, status: 'completed' });

    await killAtPausePoint('assignment', launchAll);
    // The client repeats the launches whose commit or response was lost.
    const launched = Number((await pool.query('SELECT count(*) AS count FROM job')).rows[0].count);
    for (const agentId of agentIds.slice(launched)) await admin.post('/api/jobs/launch', { workflowId, agentId });
    const total = Number((await pool.query('SELECT count(*) AS count FROM job')).rows[0].count);
    const pausePoints: (PausePoint | null)[] = ['return', 'return’s commit', 'assignment’s commit'];
    for (let ended = 0; ended < total; ended += 1) {
      const jobId = await waitForAccountHolder();
      expect(await findAccountHolders()).toEqual([jobId]);
      const pausePoint = pausePoints[ended];
      if (pausePoint) await killAtPausePoint(pausePoint, () => reportCompletion(jobId));
      // A worker repeats its report until it is acknowledged.
      await reportCompletion(jobId);
      await waitFor('the run to end', async () => {
        const { rows } = await pool.query('SELECT status FROM job WHERE id = $1', [jobId]);
        return rows[0].status === 'completed';
      });
    }
    const { rows: uses } = await pool.query(
      'SELECT job_id, since, until FROM account_use WHERE account = $1 ORDER BY since',
      [account],
    );
    expect(uses).toHaveLength(total);
    for (const [at, { since }] of uses.slice(1).entries()) expect(uses[at].until <= since).toBe(true);
    expect((await admin.get('/api/accounts?pool=delta-dental')).body.accounts).toMatchObject([{ status: 'free' }]);
  });
});
