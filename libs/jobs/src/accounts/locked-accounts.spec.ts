import { acquireAdvisoryLock, type Transaction } from '@muster/database';
import { Round } from '@muster/platform';
import { runBehindLock, runBesideLock } from '@muster/testing';
import { lockAndFindFullKeys, markJobsWaitingForKeys } from '../dispatch/concurrency-keys';
import { repairLeakedLeases } from '../dispatch/repair-leases';
import { AccountsFixture } from './accounts.harness';
import { markJobsWaitingForAccounts } from './borrow-accounts';
import { enableAccountsWithKey, updateAccount } from './save-account';

describe('accounts and concurrency keys, while another transaction holds a lock', () => {
  let fixture: AccountsFixture;

  beforeAll(async () => {
    fixture = await AccountsFixture.open();
  });
  beforeEach(() => fixture.useNewPool());
  afterAll(() => fixture.close());

  const launch = async (needs: 'an account' | 'a key') => {
    const agentId = await fixture.jobs.makeOnlineAgent();
    const input =
      needs === 'a key' ? { concurrencyKeys: [{ key: fixture.pool }] } : { accounts: fixture.listRequests() };
    if (needs === 'an account') await fixture.putAccount(fixture.pool);
    return { agentId, jobId: await fixture.jobs.launch({ agentId, ...input }) };
  };
  const defer = (work: (tx: Transaction) => void) =>
    fixture.runInTransaction((tx) => {
      work(tx);
      return Promise.resolve();
    });

  it.each([
    ['a key', 'concurrency_key', markJobsWaitingForKeys],
    ['an account', 'account_busy', markJobsWaitingForAccounts],
  ] as const)('a job that waits for %s gets its waiting reason only if its row is free', async (...row) => {
    const [needs, reason, mark] = row;
    const { agentId, jobId } = await launch(needs);
    const readReason = async () => (await fixture.readJob(jobId)).waitingReason;
    const setReason = () => defer((tx) => mark(tx, agentId, jobId));
    await runBesideLock(
      fixture.jobs.harness.db,
      (tx) => tx.query('SELECT FROM job WHERE id = $1 FOR UPDATE', [jobId]),
      setReason,
    );
    expect(await readReason()).not.toBe(reason);
    await setReason();
    expect(await readReason()).toBe(reason);
  });

  it.each([
    ['a key', 'concurrency_lease'],
    ['an account', 'account_use'],
  ] as const)('%s that an ended run has left is given back only if its row is free', async (needs, table) => {
    const { agentId, jobId } = await launch(needs);
    await fixture.jobs.dispatch.startNextJob(agentId);
    await fixture.jobs.query("UPDATE job SET status = 'completed', finished_at = muster_now() WHERE id = $1", [jobId]);
    const repair = () => repairLeakedLeases(fixture.jobs.harness.db, new Round('test'));
    const beside = await runBesideLock(
      fixture.jobs.harness.db,
      (tx) => tx.query(`SELECT FROM ${table} WHERE job_id = $1 FOR UPDATE`, [jobId]),
      repair,
    );
    expect([beside, await repair()]).toEqual([
      { looked: 1, repaired: 0 },
      { looked: 1, repaired: 1 },
    ]);
  });

  it('a decision about a concurrency key counts a holder that is committed while the decision waits', async () => {
    const [holder, next] = [await launch('a key'), await launch('a key')];
    const { organizationId, harness } = fixture.jobs;
    const [full] = await runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'concurrency key', organizationId, fixture.pool),
      () => [
        fixture.runInTransaction((tx) =>
          lockAndFindFullKeys(tx, organizationId, {
            id: next.jobId,
            concurrencyKeys: [{ key: fixture.pool, limit: 1 }],
          }),
        ),
      ],
      (tx) => tx.execute('UPDATE concurrency_lease SET since = muster_now() WHERE job_id = $1', [holder.jobId]),
    );
    expect(full).toMatchObject([{ key: fixture.pool, held: 1 }]);
  });

  it('a change of an account finds that the account was deleted while the change waited', async () => {
    await fixture.putAccount('deleted');
    const { organizationId, harness, caller } = fixture.jobs;
    const changed = runBehindLock(
      harness.db,
      (tx) => acquireAdvisoryLock(tx, 'account', organizationId, 'deleted'),
      () => [fixture.runInTransaction((tx) => updateAccount(tx, caller, 'deleted', { enabled: false }))],
      (tx) => tx.execute("DELETE FROM account WHERE organization_id = $1 AND name = 'deleted'", [organizationId]),
    );
    await expect(changed).rejects.toMatchObject({ code: 'not_found' });
  });

  it('the audit row of an account that is put back has the reason that was set while the request waited', async () => {
    await fixture.putAccount('put back');
    const { organizationId, harness, caller } = fixture.jobs;
    const setReason = (reason: string) =>
      `UPDATE account SET set_aside_reason = '${reason}', set_aside_since = muster_now()
       WHERE organization_id = $1 AND name = 'put back'`;
    await fixture.jobs.query(setReason('locked'), [organizationId]);
    await runBehindLock(
      harness.db,
      (tx) =>
        tx.query("SELECT FROM account WHERE organization_id = $1 AND name = 'put back' FOR UPDATE", [organizationId]),
      () => [fixture.runInTransaction((tx) => enableAccountsWithKey(tx, caller, 'PORTAL_PASS'))],
      (tx) => tx.execute(setReason('expired'), [organizationId]),
    );
    const audited = await fixture.jobs.query("SELECT changes FROM audit_entry WHERE action = 'account.put_back'");
    expect(audited).toEqual([{ changes: { setAside: ['expired', null] } }]);
  });
});
