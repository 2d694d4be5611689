// This test is long because it kills dispatchers at each boundary of the starts of 200 runs, and Postgres.
// A short test of the same code: libs/jobs/src/placement/model/placement-model.spec.ts
import { newId } from '@muster/platform';
import { HttpClient, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { type FaultFixture, openFaultFixture } from './fault-fixture';
import { ServiceProcess } from './service-process';

jest.setTimeout(900_000);

const launches = 200;
const machines = 20;
const dispatcherNames = Array.from({ length: 8 }, (_, at) => `dispatcher-${at}`);
const keyLimits: Record<string, number> = { north: 3, south: 5, west: 1 };
const accountNames = ['first', 'second', 'third'];
/** First key of the advisory locks of the pause points. */
const kind = 4246;

/**
 * SQL triggers by pause point. A dispatcher waits there before a statement of a start executes, or during its commit, so
 * that it does not learn whether the commit succeeded.
 */
const pausePointTriggers = {
  start: 'CREATE TRIGGER pause_point_start BEFORE INSERT ON agent_command',
  'start’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_started AFTER INSERT ON agent_command DEFERRABLE INITIALLY DEFERRED',
  key: 'CREATE TRIGGER pause_point_key BEFORE UPDATE OF since ON concurrency_lease',
  'key’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_keyed AFTER UPDATE OF since ON concurrency_lease DEFERRABLE INITIALLY DEFERRED',
  account: 'CREATE TRIGGER pause_point_account BEFORE UPDATE OF account ON account_use',
  'account’s commit':
    'CREATE CONSTRAINT TRIGGER pause_point_lent AFTER UPDATE OF account ON account_use DEFERRABLE INITIALLY DEFERRED',
};
type PausePoint = keyof typeof pausePointTriggers;

describe('200 runs that any of 20 machines could take, if dispatchers and Postgres are killed', () => {
  let fixture: FaultFixture;
  let gateway: ServiceProcess;
  let ingest: ServiceProcess;
  let admin: HttpClient;
  let worker: HttpClient;
  const dispatchers = new Map<string, ServiceProcess>();

  const buildDispatcherEnv = (name: string) => {
    const url = new URL(fixture.env['DATABASE_URL']!);
    url.searchParams.set('application_name', name);
    return {
      ...fixture.env,
      ...{ DATABASE_URL: url.toString(), REDIS_PREFIX: 'placement', LOG_LEVEL: 'error' },
      ...{ AGENT_OFFLINE_AFTER_MS: '3600000', DISPATCH_SWEEP_MS: '500', COMMAND_SWEEP_MS: '1000' },
    };
  };
  const startDispatchers = (names: string[]) =>
    Promise.all(
      names.map(async (name) =>
        dispatchers.set(name, await ServiceProcess.start('dispatcher', buildDispatcherEnv(name))),
      ),
    );

  beforeAll(async () => {
    fixture = await openFaultFixture();
    await fixture.query(`
      CREATE FUNCTION wait_at_placement_pause_point() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN
          PERFORM pg_advisory_xact_lock_shared(${kind}, hashtext(TG_ARGV[0]));
          RETURN NEW;
        END $$`);
    for (const [pausePoint, trigger] of Object.entries(pausePointTriggers))
      await fixture.query(`${trigger} FOR EACH ROW EXECUTE FUNCTION wait_at_placement_pause_point('${pausePoint}')`);
    gateway = await ServiceProcess.start('gateway', buildDispatcherEnv('gateway'));
    ingest = await ServiceProcess.start('ingest', buildDispatcherEnv('ingest'));
    await startDispatchers(dispatcherNames);
    admin = await fixture.signIn(gateway.url);
    const { secret } = (await admin.post('/api/api-keys', { name: 'machines', scope: 'worker' })).body;
    worker = new HttpClient(ingest.url).with({ 'x-api-key': secret });
  });
  afterAll(async () => {
    await Promise.all([gateway, ingest, ...dispatchers.values()].map((service) => service?.end('SIGKILL')));
    await fixture?.close();
  });

  const findWaiting = () =>
    fixture.query<{ pid: number; name: string }>(
      `SELECT l.pid, a.application_name AS name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
       WHERE l.locktype = 'advisory' AND NOT l.granted AND l.classid = ${kind} AND a.application_name LIKE 'dispatcher%'`,
    );

  /** Whether the machines report the ends of their runs. */
  let isReporting = true;
  let isOver = false;
  const broken: string[] = [];
  /** Reports runs as completed, and checks at each turn that no key and no machine has more runs than allowed. */
  async function simulateMachines(): Promise<void> {
    while (!isOver) {
      try {
        const state = await fixture.query<{ key: string; held: number }>(
          'SELECT key, count(*)::int AS held FROM concurrency_lease WHERE since IS NOT NULL GROUP BY key',
        );
        for (const { key, held } of state) if (held > keyLimits[key]!) broken.push(`${held} runs hold ${key}`);
        const runs = await fixture.query<{ ids: string[] }>(
          `SELECT array_agg(id) AS ids FROM job WHERE command_id IS NOT NULL AND status IN ('queued', 'running')
           GROUP BY agent_id`,
        );
        for (const { ids } of runs) if (ids.length > 1) broken.push(`a machine has the runs ${ids.join(', ')}`);
        if (isReporting)
          await Promise.all(
            runs
              .flatMap(({ ids }) => ids)
              .map((jobId) => worker.post('/api/job-webhook', { jobId, status: 'completed' })),
          );
      } catch {
        // Postgres was killed. A worker repeats its report until it is acknowledged.
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Makes starts wait at the pause point, and calls `act` with the dispatchers that wait there. */
  async function actAtPausePoint(
    pausePoint: PausePoint,
    act: (waiting: { pid: number; name: string }[], release: () => Promise<void>) => Promise<void>,
    work: () => Promise<unknown> = () => Promise.resolve(),
  ): Promise<void> {
    const keeper = new Client({ connectionString: fixture.stack.databaseUrl });
    keeper.on('error', () => undefined);
    await keeper.connect();
    const endKeeperConnection = () => keeper.end().catch(() => undefined);
    try {
      await keeper.query('SELECT pg_advisory_lock($1, hashtext($2))', [kind, pausePoint]);
      await work();
      isReporting = true;
      const waiting = await waitFor(
        `a dispatcher at the pause point ${pausePoint}`,
        async () => {
          const found = await findWaiting();
          return found.length > 0 ? found : undefined;
        },
        60_000,
      );
      isReporting = false;
      await act(waiting, endKeeperConnection);
    } finally {
      await endKeeperConnection();
    }
  }

  /**
   * Kills the dispatchers that wait at the pause point. Then Postgres rolls their transactions back or commits them,
   * depending on the pause point.
   */
  async function killDispatchers(pausePoint: PausePoint, work?: () => Promise<unknown>): Promise<void> {
    await actAtPausePoint(
      pausePoint,
      async (waiting, release) => {
        const names = [...new Set(waiting.map(({ name }) => name))];
        await Promise.all(names.map((name) => dispatchers.get(name)!.end('SIGKILL')));
        if (!pausePoint.endsWith('commit')) {
          const left = (await findWaiting()).filter(({ name }) => names.includes(name)).map(({ pid }) => pid);
          await fixture.query('SELECT pg_terminate_backend(pid, 10000) FROM unnest($1::int[]) AS pid', [left]);
        }
        await release();
        await startDispatchers(names);
      },
      work,
    );
  }

  async function killPostgres(pausePoint: PausePoint): Promise<void> {
    await actAtPausePoint(pausePoint, async () => {
      const { postgres } = fixture.stack;
      process.kill(postgres!.pid, 'SIGKILL');
      await postgres!.stop();
      await postgres!.restart();
    });
  }

  it('despite kills, each run starts once on one machine, and every concurrency key and account is free in the end', async () => {
    await admin.put('/api/vault/PASSWORD', { value: 'hunter2-of-the-vault' });
    for (const name of accountNames) {
      const body = { pool: 'portal', vaultKeys: { password: 'PASSWORD' } };
      expect((await admin.put(`/api/accounts/${name}`, body)).status).toBe(200);
    }
    const { id: workflowId } = (await admin.post('/api/workflows', { name: 'Claims', script: 'pass' })).body;
    for (let at = 0; at < machines; at += 1)
      await admin.post('/api/agents', { name: newId(), provider: 'external', labels: ['claims'] });
    await fixture.query(`UPDATE agent SET status = 'online', last_seen = now()`);
    const playing = simulateMachines();

    const keys = Object.entries(keyLimits).map(([key, limit]) => ({ key, limit }));
    const launchAll = async () => {
      const answers = await Promise.all(
        Array.from({ length: launches }, (_, at) =>
          admin.post('/api/jobs/launch', {
            workflowId,
            target: { labels: ['claims'], prefer: at % 2 ? 'spread' : 'running' },
            // Every fourth run has no key; every third borrows an account.
            ...(at % 4 ? { concurrencyKeys: [keys[(at % 4) - 1]] } : {}),
            ...(at % 3 ? {} : { accounts: [{ pool: 'portal', as: 'PORTAL' }] }),
          }),
        ),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]));
    };
    isReporting = false;
    await killDispatchers('start', launchAll);
    for (const pausePoint of Object.keys(pausePointTriggers).slice(1)) await killDispatchers(pausePoint as PausePoint);
    await killPostgres('start');
    await killPostgres('start’s commit');

    isReporting = true;
    await waitFor(
      'all runs to end',
      async () => {
        const [{ open }] = (await fixture.query(
          `SELECT count(*)::int AS open FROM job WHERE status <> 'completed'`,
        )) as [{ open: number }];
        return open === 0;
      },
      240_000,
    );
    isOver = true;
    await playing;
    expect(broken).toEqual([]);
    const counts = await fixture.query(
      `SELECT count(*)::int AS runs, count(DISTINCT c.job_id)::int AS started,
              count(*) FILTER (WHERE c.agent_id = j.agent_id)::int AS "onItsMachine"
       FROM job j JOIN agent_command c ON c.job_id = j.id AND c.kind = 'run'`,
    );
    expect(counts).toEqual([{ runs: launches, started: launches, onItsMachine: launches }]);
    expect(await fixture.query('SELECT key, job_id FROM concurrency_lease')).toEqual([]);
    const uses = await fixture.query<{ account: string; since: Date; until: Date | null }>(
      'SELECT account, since, until FROM account_use ORDER BY account, since',
    );
    expect(uses).toHaveLength(Math.ceil(launches / 3));
    const overlapping = uses.filter(
      ({ account, since }, at) => uses[at - 1]?.account === account && !(uses[at - 1]!.until! <= since),
    );
    expect(overlapping).toEqual([]);
    expect(uses.filter(({ until }) => until === null)).toEqual([]);
    expect(
      (await admin.get('/api/accounts?pool=portal')).body.accounts.map((account: { status: string }) => account.status),
    ).toEqual(accountNames.map(() => 'free'));
    const [{ working }] = (await fixture.query('SELECT count(current_job_id)::int AS working FROM agent')) as [
      { working: number },
    ];
    expect(working).toBe(0);
  });
});
