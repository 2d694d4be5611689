import { applyJobReport } from '@muster/jobs';
import { createOwnerDataSource } from '@muster/database';
import { newId } from '@muster/platform';
import {
  type Harness,
  type Answer,
  countDeadlocks,
  makeAgent,
  makeApiKey,
  makeJob,
  makeWorkflow,
  startHarness,
  type Tenant,
  waitFor,
} from '@muster/testing';
import type { Server } from 'node:http';
import { gateway } from '../gateway.harness';

jest.setTimeout(120_000);

/** Run limit while two ways to launch compete for it. Each test tries more launches than the limit allows. */
const pairLimit = 6;

/**
 * Every launch locks the agent and the organization. Two ways to launch that lock them in opposite orders could
 * deadlock.
 */
describe('launches near a limit', () => {
  let harness: Harness;
  let tenant: Tenant;
  let other: Tenant;
  let workflowId: string;
  let agentId: string;
  let sharedRuns = false;

  beforeAll(async () => {
    harness = await startHarness(gateway);
    tenant = await harness.makeTenant();
    other = await harness.makeTenant();
    const { organizationId } = tenant;
    workflowId = (await makeWorkflow(harness.db, { organizationId })).id;
    agentId = (await makeAgent(harness.db, { organizationId, status: 'online' })).id;
  });
  afterAll(() => harness.close());

  const resetUsageAndSetLimits = async (runs: number | null, usd: number | null = null) => {
    for (const table of ['job', 'usage_event', 'usage_counter'])
      await harness.db.query('system', `DELETE FROM ${table}`);
    await harness.db.query(
      'system',
      'UPDATE organization_settings SET monthly_run_limit = $2, monthly_spend_limit_micros = $3 WHERE organization_id = $1',
      [tenant.organizationId, runs, usd === null ? null : usd * 1_000_000],
    );
  };
  const countRows = async (from: string, ...values: unknown[]) => {
    const sql = `SELECT count(*)::int AS count FROM ${from}`;
    return (await harness.db.query<{ count: number }>('system', sql, values))[0]!.count;
  };
  const openRuns = () => countRows(`job WHERE organization_id = $1 AND status = 'queued'`, tenant.organizationId);
  const makeEndedJob = () =>
    makeJob(harness.db, { organizationId: tenant.organizationId, agentId, workflowId, status: 'completed' });
  const postAsTenant = (path: string, body: object) => tenant.api.post(path, body);

  const waysToLaunch: Record<string, () => Promise<Answer | null>> = {
    launch: () => postAsTenant('/api/jobs/launch', { workflowId, agentId }),
    start_job: () => postAsTenant(`/api/agent/${agentId}/action`, { action: 'start_job', workflowId }),
    batch: () => postAsTenant('/api/jobs/batch', { workflowId, agentIds: [agentId], rows: [{}] }),
    replay: async () => postAsTenant(`/api/jobs/${(await makeEndedJob()).id}/replay`, {}),
    retry: async () => {
      const { organizationId } = tenant;
      // An agent runs one job at a time, so only the first of these jobs can run on the agent of the launches. The
      // others get their own agents.
      const own = sharedRuns
        ? (await makeAgent(harness.db, { organizationId, name: newId(), status: 'online' })).id
        : agentId;
      sharedRuns = true;
      const job = { organizationId, agentId: own, workflowId, status: 'running', maxRetries: 1 } as const;
      const { id } = await makeJob(harness.db, job);
      await applyJobReport(
        harness.db,
        { organizationId, agentId: own },
        { jobId: id, status: 'failed', error: 'boom' },
      );
      return null;
    },
  };
  const makeSchedule = async (dueAt: string): Promise<string> => {
    const { id } = (
      await postAsTenant('/api/schedules', {
        name: newId(),
        scriptId: workflowId,
        agentId,
        cronExpression: '0 3 * * *',
      })
    ).body;
    await harness.db.query('system', `UPDATE schedule SET next_run_at = ${dueAt} WHERE id = $1`, [id]);
    return id;
  };
  waysToLaunch['schedule tick'] = async () => {
    const scheduleId = await makeSchedule(`muster_now() - interval '1 second'`);
    return postAsTenant('/api/schedules/execute', { scheduleId });
  };
  waysToLaunch['forced schedule'] = async () => {
    const scheduleId = await makeSchedule(`muster_now() + interval '1 hour'`);
    return postAsTenant('/api/schedules/execute', { scheduleId, force: true });
  };
  const names = Object.keys(waysToLaunch);
  const pairs = names.flatMap((a, at) => names.slice(at).map((b) => [a, b] as const));

  it.each(pairs)('launches by %s and %s run concurrently without a deadlock or a failure', async (a, b) => {
    await resetUsageAndSetLimits(pairLimit);
    sharedRuns = false;
    const before = await countDeadlocks(harness.db);
    const calls = Array.from({ length: pairLimit + 2 }, (_, at) => waysToLaunch[at % 2 ? a : b]!());
    const answers = (await Promise.all(calls)).flatMap((answer) => (answer ? [answer] : []));
    const unexpected = answers.filter(({ status }) => ![200, 202, 402].includes(status)).map(({ body }) => body);
    expect(unexpected).toEqual([]);
    expect(await openRuns()).toBeLessThanOrEqual(pairLimit);
    expect(await countDeadlocks(harness.db)).toBe(before);
  });

  it('launches in one process and start_job in another run concurrently without a deadlock or a failure', async () => {
    const database = { url: harness.databaseUrl, name: '', drop: () => Promise.resolve() };
    const { REDIS_PREFIX } = harness.env;
    const second = await startHarness({ ...gateway, database, env: { REDIS_PREFIX } });
    try {
      await resetUsageAndSetLimits(pairLimit);
      const elsewhere = tenant.api.at(second.url);
      const before = await countDeadlocks(harness.db);
      const answers = await Promise.all(
        Array.from({ length: pairLimit * 2 }, (_, at) =>
          at % 2
            ? postAsTenant('/api/jobs/launch', { workflowId, agentId })
            : elsewhere.post(`/api/agent/${agentId}/action`, { action: 'start_job', workflowId }),
        ),
      );
      const launched = answers.filter((answer) => [200, 202].includes(answer.status));
      const refused = answers.filter((answer) => answer.status === 402);
      expect([launched.length, refused.length]).toEqual([pairLimit, pairLimit]);
      expect(await openRuns()).toBe(pairLimit);
      expect(await countDeadlocks(harness.db)).toBe(before);
    } finally {
      await second.close();
    }
  });

  it('a launch that waits for another launch is dropped at once if its client disconnects', async () => {
    await resetUsageAndSetLimits(pairLimit);
    const { organizationId } = tenant;
    const { secret, id: keyId } = await makeApiKey(harness.db, { organizationId, scope: 'api' });
    const server = harness.app.nest.getHttpServer() as Server;
    const countConnections = () =>
      new Promise<number>((resolve) => server.getConnections((_, count: number) => resolve(count)));
    const gone = new AbortController();
    const launchJob = () => postAsTenant('/api/jobs/launch', { workflowId, agentId });
    const { first, abandoned } = await harness.db.transaction({ organizationId }, async (tx) => {
      // The first launch waits for this lock to insert its job, so the second launch waits for its turn.
      await tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [agentId]);
      const running = launchJob();
      const waitingForLock =
        'pg_locks JOIN pg_stat_activity USING (pid) WHERE NOT granted AND datname = current_database()';
      await waitFor('the first launch to have its turn', () => countRows(waitingForLock));
      const body = JSON.stringify({ workflowId, agentId });
      const headers = { 'x-api-key': secret, 'content-type': 'application/json' };
      const refused = expect(
        fetch(`${harness.url}/api/jobs/launch`, { method: 'POST', headers, body, signal: gone.signal }),
      ).rejects.toThrow('aborted');
      await waitFor('the second launch', () => countRows('api_key WHERE id = $1 AND last_used_at IS NOT NULL', keyId));
      const before = await countConnections();
      gone.abort();
      await waitFor('the end of its connection', async () => (await countConnections()) < before);
      return { first: running, abandoned: refused };
    });
    await abandoned;
    const statuses = [(await first).status, (await launchJob()).status];
    expect([statuses, await openRuns()]).toEqual([[202, 202], 2]);
  });

  it('a hundred concurrent launches fill the run limit exactly and do not block another organization', async () => {
    await resetUsageAndSetLimits(60);
    const crowd = Array.from({ length: 100 }, (_, at) => waysToLaunch[at % 2 ? 'launch' : 'start_job']!());
    const bystander: number[] = [];
    let over = false;
    const looking = (async () => {
      while (!over) bystander.push((await other.api.get('/api/workflows')).status);
    })();
    const statuses = (await Promise.all(crowd)).map((answer) => answer!.status);
    over = true;
    await looking;
    expect(new Set(bystander)).toEqual(new Set([200]));
    const launched = statuses.filter((status) => status === 200 || status === 202).length;
    expect([launched, statuses.filter((status) => status === 402).length]).toEqual([60, 40]);
    expect(await openRuns()).toBe(60);
  });

  it('concurrent launches reserve a spend limit to the last cent and no further', async () => {
    await resetUsageAndSetLimits(null, 1);
    const launchCostlyJob = () => postAsTenant('/api/jobs/launch', { workflowId, agentId, maxCostUsd: 0.01 });
    const statuses = (await Promise.all(Array.from({ length: 120 }, launchCostlyJob))).map(({ status }) => status);
    const countStatus = (wanted: number) => statuses.filter((status) => status === wanted).length;
    expect([countStatus(202), countStatus(402)]).toEqual([100, 20]);
    expect(await openRuns()).toBe(100);
  });

  it('a launch that Postgres rolls back in each of five attempts is answered 503 with Retry-After', async () => {
    await resetUsageAndSetLimits(null);
    const owner = await createOwnerDataSource(harness.databaseUrl).initialize();
    // Turns off the lock timeout of migrations, because these statements may have to wait for an autovacuum of the
    // table.
    await owner.query(`
      SET lock_timeout = 0;
      CREATE SEQUENCE attempts;
      GRANT USAGE ON attempts TO PUBLIC;
      CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        PERFORM nextval('attempts');
        RAISE 'the transaction is the victim of a deadlock' USING ERRCODE = '40P01';
      END $$;
      CREATE TRIGGER lose BEFORE INSERT ON job FOR EACH ROW EXECUTE FUNCTION lose()`);
    const key = newId();
    try {
      const launchWithSameKey = () =>
        tenant.api.with({ 'idempotency-key': key }).post('/api/jobs/launch', { workflowId, agentId });
      const refused = await launchWithSameKey();
      expect([refused.status, refused.body.code]).toEqual([503, 'service_unavailable']);
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(await openRuns()).toBe(0);
      expect(await owner.query('SELECT last_value::int AS count FROM attempts')).toEqual([{ count: 5 }]);
      await owner.query('SET lock_timeout = 0; DROP TRIGGER lose ON job');
      const accepted = await launchWithSameKey();
      expect(accepted.status).toBe(202);
    } finally {
      await owner.destroy();
    }
  });

  it('a spend limit refuses a run without a budget once open runs reserve all of it', async () => {
    await resetUsageAndSetLimits(null, 1);
    const launchWithBody = (body: object) => postAsTenant('/api/jobs/launch', { workflowId, agentId, ...body });
    for (let run = 0; run < 10; run += 1) expect((await launchWithBody({ maxCostUsd: 0.1 })).status).toBe(202);
    expect((await launchWithBody({ maxCostUsd: 0.1 })).status).toBe(402);
    const refused = await launchWithBody({});
    expect([refused.status, refused.body.detail]).toEqual([
      402,
      expect.stringContaining('Nothing is left of the monthly limit'),
    ]);
  });
});
