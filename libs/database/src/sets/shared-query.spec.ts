import { BaseConfig } from '@muster/platform';
import { runBehindLock, runInFullSets, type Harness, makeOrganization, startHarness } from '@muster/testing';
import { DatabaseModule } from '../database.module';
import { buildRowStatements } from '../transactions/row-statement';

describe('sharedQuery', () => {
  let harness: Harness;
  let scope: { organizationId: string };

  beforeAll(async () => {
    harness = await startHarness({ name: 'gateway', configs: [BaseConfig], modules: [DatabaseModule] });
    scope = { organizationId: (await makeOrganization(harness.db)).id };
  });
  afterAll(() => harness.close());
  beforeEach(async () => {
    await harness.db.query('system', 'DELETE FROM library_process');
    await harness.db.query(
      'system',
      `INSERT INTO library_process (organization_id, worker_key, name) SELECT $1, key, '1' FROM unnest($2::text[]) AS key`,
      [scope.organizationId, ['a', 'b', 'c']],
    );
  });

  const lock = `SELECT FROM library_process WHERE worker_key = $1 FOR UPDATE`;
  /** Adds 1 divided by the divisor to the row's number, and fails if the divisor is 0. */
  const textWith = (rows: string, skip: string) => `
    WITH found AS (
      SELECT p.worker_key, input.member, input.divisor FROM ${rows} CROSS JOIN LATERAL (
        SELECT worker_key FROM library_process WHERE worker_key = input.key FOR UPDATE ${skip}) p)
    UPDATE library_process p SET name = (p.name::int + 1 / found.divisor)::text FROM found
    WHERE p.worker_key = found.worker_key
    RETURNING found.member, p.name, pg_current_xact_id()::text AS transaction`;
  const addRows = (name: string, skip = '') =>
    buildRowStatements(name, { key: 'text', divisor: 'int' }, (rows) => textWith(rows, skip));
  const [alone, together] = [addRows('test_add'), addRows('test_adds', 'SKIP LOCKED')];
  const add = (key: string, divisor = 1) =>
    harness.db.sharedQuery<{ name: string; transaction: string }>(
      scope,
      { alone, together, values: [key, divisor] },
      key,
    );
  const names = async () =>
    (await harness.db.query<{ name: string }>('system', 'SELECT name FROM library_process ORDER BY worker_key')).map(
      ({ name }) => name,
    );

  it('sharedQuery commits in one transaction all statements that arrive while another statement is in progress', async () => {
    const [first, ...others] = await runInFullSets(() => Promise.all([add('a'), add('a'), add('b'), add('c')]));
    expect(new Set(others.map(([row]) => row!.transaction)).size).toBe(1);
    expect(others[0]![0]!.transaction).not.toBe(first[0]!.transaction);
    expect(await names()).toEqual(['3', '2', '2']);
  });

  it('sharedQuery never has two statements with the same key in one set, so each of them changes the row', async () => {
    await Promise.all([add('b'), add('a'), add('a'), add('a'), add('c')]);
    expect(await names()).toEqual(['4', '2', '2']);
  });

  it('sharedQuery runs every statement alone after one of them failed, so that only that statement fails', async () => {
    const results = await Promise.allSettled([add('a'), add('a'), add('b', 0), add('c')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(await names()).toEqual(['3', '1', '2']);
  });

  it('a statement of sharedQuery that waits for a locked row does not delay the others of its set', async () => {
    let others: Promise<unknown> | undefined;
    await runBehindLock(
      harness.db,
      (tx) => tx.query(lock, ['b']),
      () => {
        const first = add('a');
        const locked = add('b');
        others = Promise.all([first, add('c')]);
        return [locked];
      },
      // The other transaction still holds the lock of the row at this point.
      () => others!,
    );
    expect(await names()).toEqual(['2', '2', '2']);
  });
});
