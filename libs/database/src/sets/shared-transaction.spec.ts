import { AppError } from '@muster/contracts';
import { BaseConfig, getRequestContext, runInContext } from '@muster/platform';
import { runBehindLock, type Harness, makeOrganization, startHarness, waitFor } from '@muster/testing';
import { Client } from 'pg';
import { createOwnerDataSource } from '../data-source';
import { DatabaseModule } from '../database.module';
import type { Transaction } from '../transactions/transaction';

describe('sharedTransaction', () => {
  let harness: Harness;
  let scope: { organizationId: string };

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    scope = { organizationId: (await makeOrganization(harness.db)).id };
  });
  afterAll(() => harness.close());
  beforeEach(() => harness.db.query('system', 'DELETE FROM library_process'));

  const insert = (tx: Transaction, key: string) =>
    tx.deferStatement('INSERT INTO library_process (organization_id, worker_key, name) VALUES ($1, $2, $2)', [
      scope.organizationId,
      key,
    ]);
  const keys = async () =>
    (await harness.db.query<{ key: string }>('system', 'SELECT worker_key AS key FROM library_process ORDER BY 1')).map(
      ({ key }) => key,
    );
  const transactionOf = async (tx: Transaction) =>
    (await tx.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id'))[0]!.id;
  const shared = <T>(work: (tx: Transaction) => Promise<T>) => harness.db.sharedTransaction('test', scope, work);
  /** Runs the works while a set of their name is in progress, so that they form the next set. */
  const together = async <T>(...works: ((tx: Transaction) => Promise<T>)[]) => {
    const first = shared((tx) => tx.query('SELECT 1'));
    const results = works.map(shared);
    await first;
    return Promise.allSettled(results);
  };
  const write = (key: string) => async (tx: Transaction) => {
    const id = await transactionOf(tx);
    insert(tx, key);
    return id;
  };
  const valueOf = (result: PromiseSettledResult<unknown>) =>
    result.status === 'fulfilled' ? result.value : (result.reason as Error).message;

  it('callbacks that reach sharedTransaction while another transaction is in progress commit together', async () => {
    const ids = (await together(write('a'), write('b'), write('c'))).map(valueOf);
    expect(new Set(ids).size).toBe(1);
    expect(await keys()).toEqual(['a', 'b', 'c']);
  });

  it('sharedTransaction runs callbacks of different organizations in separate transactions', async () => {
    const other = { organizationId: (await makeOrganization(harness.db)).id };
    const first = shared((tx) => tx.query('SELECT 1'));
    const ids = await Promise.all([
      shared(transactionOf),
      shared(transactionOf),
      harness.db.sharedTransaction('test', other, transactionOf),
    ]);
    await first;
    expect(ids[0]).toBe(ids[1]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('a sharedTransaction callback that throws before it writes fails alone and does not disturb the others', async () => {
    let runs = 0;
    const refused = async (tx: Transaction) => {
      runs += 1;
      await transactionOf(tx);
      insert(tx, 'refused');
      throw new AppError('not_found', { detail: 'There is no such thing.' });
    };
    const [a, error, b] = (await together(write('a'), refused, write('b'))).map(valueOf);
    expect(error).toBe('There is no such thing.');
    expect(a).toBe(b);
    expect(runs).toBe(1);
    expect(await keys()).toEqual(['a', 'b']);
  });

  it('every sharedTransaction callback runs again alone after a statement of one failed, so that only that one fails', async () => {
    await shared(write('taken'));
    const [a, error, b] = (await together(write('a'), write('taken'), write('b'))).map(valueOf);
    expect(error).toMatch(/duplicate key/);
    expect(a).not.toBe(b);
    expect(await keys()).toEqual(['a', 'b', 'taken']);
  });

  it.each([
    ['throws after it has written', new AppError('conflict', { detail: 'Too late.' })],
    ['throws an unexpected error', new TypeError('no such property')],
  ])('sharedTransaction commits nothing of a callback that %s', async (_case, error) => {
    const failing = async (tx: Transaction) => {
      if (error instanceof AppError) await tx.execute(`DELETE FROM library_process WHERE worker_key = 'taken'`);
      throw error;
    };
    await shared(write('taken'));
    const [a, reason] = (await together(write('a'), failing)).map(valueOf);
    expect(reason).toBe(error.message);
    expect(a).toMatch(/^\d+$/);
    expect(await keys()).toEqual(['a', 'taken']);
  });

  it('sharedTransaction runs a callback separately if it calls requireOwnConnection or uses the entity manager', async () => {
    const own = (tx: Transaction) => {
      tx.requireOwnConnection();
      return write('own')(tx);
    };
    const manager = async (tx: Transaction) => {
      await tx.manager.query('SELECT 1');
      return write('manager')(tx);
    };
    const ids = (await together(write('a'), own, manager, write('b'))).map(valueOf);
    expect(ids[0]).toBe(ids[3]);
    expect(new Set(ids).size).toBe(3);
    expect(await keys()).toEqual(['a', 'b', 'manager', 'own']);
  });

  it('sharedTransaction runs each callback in the request context of its caller', async () => {
    const contextOf = async (tx: Transaction) => {
      await transactionOf(tx);
      return getRequestContext()?.requestId;
    };
    const within = (requestId: string) => runInContext({ requestId, traceparent: '' }, () => shared(contextOf));
    const first = shared((tx) => tx.query('SELECT 1'));
    expect(await Promise.all([within('one'), within('two')])).toEqual(['one', 'two']);
    await first;
  });

  it('callbacks that arrive while a shared transaction waits for a lock run in the next transaction at once', async () => {
    await shared(write('locked'));
    const lock = `SELECT FROM library_process WHERE worker_key = 'locked' FOR UPDATE`;
    let finished = false;
    await runBehindLock(
      harness.db,
      (tx) => tx.query(lock),
      () => [shared((tx) => tx.query(lock))],
      async () => {
        await shared(write('beside'));
        finished = true;
      },
    );
    expect(finished).toBe(true);
    expect(await keys()).toEqual(['beside', 'locked']);
  });

  it('the messages and after-commit functions of each sharedTransaction callback take effect after the commit', async () => {
    const committed: string[] = [];
    const enqueue = (probeId: string) => async (tx: Transaction) => {
      await tx.enqueue({ queue: 'dispatch', name: 'probe', payload: { probeId } });
      tx.onCommit(() => committed.push(probeId));
      return transactionOf(tx);
    };
    await together(enqueue('one'), enqueue('two'));
    expect(committed.sort()).toEqual(['one', 'two']);
    const rows = await harness.db.query<{ id: string }>(
      'system',
      `SELECT payload->>'probeId' AS id FROM outbox WHERE payload->>'probeId' IN ('one', 'two') ORDER BY 1`,
    );
    expect(rows.map(({ id }) => id)).toEqual(['one', 'two']);
  });

  it.each([
    ['does not wait for the WAL flush if both of its works allow that', [true, true], 1],
    ['waits for the WAL flush if one of its works needs it', [true, false], 0],
  ])('a shared transaction of two callbacks %s', async (_case, allowed, unflushedCommits) => {
    const sent: (string | undefined)[] = [];
    const { query } = Client.prototype;
    const works = allowed.map((isAllowed, at) => async (tx: Transaction) => {
      if (isAllowed) tx.allowUnflushedCommit();
      return write(`row ${at}`)(tx);
    });
    const first = shared((tx) => tx.query('SELECT 1'));
    const results = works.map(shared);
    const spy = jest.spyOn(Client.prototype, 'query').mockImplementation(function (this: Client, ...args: any[]) {
      sent.push(...(args[0].statements ?? []).map(({ name }: { name?: string }) => name));
      return (query as any).apply(this, args);
    } as never);
    await first;
    await Promise.all(results).finally(() => spy.mockRestore());
    expect(sent.filter((name) => name === 'muster_commit_unflushed')).toHaveLength(unflushedCommits);
  });

  it('every sharedTransaction caller gets the error if the connection is lost during the commit; nothing is repeated', async () => {
    let runs = 0;
    const counted = (key: string) => async (tx: Transaction) => {
      runs += 1;
      insert(tx, key);
      // Delays the commit until the test has closed the connection.
      tx.deferStatement('SELECT pg_sleep(30)');
      return 'done';
    };
    const ending = together(counted('a'), counted('b'));
    const owner = await createOwnerDataSource(harness.databaseUrl).initialize();
    await waitFor('the commit to be in progress', async () => {
      const rows: unknown[] = await owner.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event = 'PgSleep'`,
      );
      return rows.length > 0;
    });
    await owner.destroy();
    const results = await ending;
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(runs).toBe(2);
    expect(await keys()).toEqual([]);
  });
});
