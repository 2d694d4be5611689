import { acquireAdvisoryLock } from '@muster/database';
import type { PutAccountBody } from '@muster/contracts';
import { runBehindLock } from '@muster/testing';
import { AccountsFixture } from './accounts.harness';
import { deleteAccount, enableAccountsWithKey, updateAccount } from './save-account';

describe('accounts that no run can borrow', () => {
  let fixture: AccountsFixture;

  beforeAll(async () => {
    fixture = await AccountsFixture.open();
  });
  beforeEach(() => fixture.useNewPool());
  afterAll(() => fixture.close());

  it('a run that reports a failed account sets it aside until it is put back or gets a new secret', async () => {
    await fixture.putAccount('failing');
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(2);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await expect(fixture.failAccountOfRun(jobs[0]!, 'locked', agents[1])).rejects.toMatchObject({ code: 'not_found' });
    await expect(fixture.failAccountOfRun(jobs[1]!)).rejects.toMatchObject({ code: 'not_found' });
    expect(await fixture.failAccountOfRun(jobs[0]!, 'locked', agents[0])).toEqual({ accepted: true });
    expect(await fixture.failAccountOfRun(jobs[0]!)).toMatchObject({ accepted: false });
    await fixture.endRun(jobs[0]!);
    await dispatchAll();
    expect([await fixture.listHoldingJobs(), await fixture.readStatus('failing')]).toEqual([[], 'set_aside']);
    await fixture.putAccount('failing');
    expect(await fixture.readStatus('failing')).toBe('set_aside');
    await fixture.jobs.query('DELETE FROM outbox');
    await fixture.runInTransaction((tx) => updateAccount(tx, fixture.jobs.caller, 'failing', { enabled: true }));
    expect(await fixture.listDispatchMessages(agents[1]!)).toHaveLength(1);
    // A report that is sent again does not set the account aside again.
    expect(await fixture.failAccountOfRun(jobs[0]!)).toMatchObject({ accepted: false });
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toEqual([jobs[1]]);
    await fixture.failAccountOfRun(jobs[1]!, 'expired');
    await fixture.runInTransaction((tx) => enableAccountsWithKey(tx, fixture.jobs.caller, 'OTHER'));
    expect(await fixture.readStatus('failing')).toBe('set_aside');
    await fixture.runInTransaction((tx) => enableAccountsWithKey(tx, fixture.jobs.caller, 'PORTAL_PASS'));
    expect(await fixture.readStatus('failing')).toBe('busy');
    await fixture.endRun(jobs[1]!);
    const actions = await fixture.jobs.query(`SELECT action FROM audit_entry WHERE target_id = 'failing' ORDER BY id`);
    expect(actions.map(({ action }) => action)).toEqual([
      'account.create',
      'account.update',
      'account.update',
      'account.put_back',
    ]);
  });

  it('a report about a failed account waits for a dispatch that is choosing an account of the pool', async () => {
    await fixture.putAccount('contended', { limit: 2 });
    const { jobs, agents } = await fixture.launchOnAgents(1);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    const [answer] = await runBehindLock(
      fixture.jobs.harness.db,
      (tx) => acquireAdvisoryLock(tx, 'account pool', fixture.jobs.organizationId, fixture.pool),
      () => [fixture.failAccountOfRun(jobs[0]!)],
    );
    expect(answer).toEqual({ accepted: true });
    await fixture.endRun(jobs[0]!);
  });

  it('a disabled or deleted account gets no new run, but the runs that had the account are still listed', async () => {
    await fixture.putAccount('leaving');
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(3);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await fixture.runInTransaction((tx) => updateAccount(tx, fixture.jobs.caller, 'leaving', { enabled: false }));
    expect(await fixture.readStatus('leaving')).toBe('disabled');
    await fixture.endRun(jobs[0]!);
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toEqual([]);
    await fixture.runInTransaction((tx) => updateAccount(tx, fixture.jobs.caller, 'leaving', { enabled: true }));
    await fixture.jobs.dispatch.startNextJob(agents[1]!);
    await fixture.runInTransaction((tx) => deleteAccount(tx, fixture.jobs.caller, 'leaving'));
    expect(await fixture.listUses('leaving')).toMatchObject([
      { jobId: jobs[1], until: null },
      { jobId: jobs[0], until: expect.any(Date) },
    ]);
    await fixture.putAccount('leaving');
    await fixture.jobs.dispatch.startNextJob(agents[2]!);
    expect(await fixture.listHoldingJobs()).toEqual([jobs[1]]);
    await fixture.endRun(jobs[1]!);
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toEqual([jobs[2]]);
    await fixture.endRun(jobs[2]!);
    await expect(fixture.listUses('never')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('a run fails at its start if the vault no longer has a secret of its account', async () => {
    await fixture.putAccount('without secret', { vaultKeys: { password: 'OTHER' } });
    const { jobs, dispatchAll } = await fixture.launchOnAgents(1);
    await fixture.jobs.query(`UPDATE vault_secret SET key = 'HIDDEN' WHERE key = 'OTHER'`);
    await dispatchAll();
    expect(await fixture.readJob(jobs[0]!)).toMatchObject({ status: 'failed', errorCode: 'secret_missing' });
    expect(await fixture.listHoldingJobs()).toEqual([]);
    expect(await fixture.jobs.query('SELECT FROM account_use WHERE job_id = $1', [jobs[0]])).toEqual([]);
    await fixture.jobs.query(`UPDATE vault_secret SET key = 'OTHER' WHERE key = 'HIDDEN'`);
  });

  it('an account is refused if its name or its vault keys are not valid', async () => {
    const refused: [string, Partial<PutAccountBody>, string][] = [
      ['', {}, 'name'],
      ['x'.repeat(101), {}, 'name'],
      ['line\nbreak', {}, 'name'],
      ['right', { vaultKeys: {} }, 'vaultKeys'],
      ['right', { vaultKeys: { 'pass word': 'PORTAL_PASS' } }, 'vaultKeys.pass word'],
      ['right', { vaultKeys: { user: 'PORTAL_USER', USER: 'PORTAL_USER' } }, 'vaultKeys.USER'],
      ['right', { vaultKeys: { password: 'NO_SUCH_KEY' } }, 'vaultKeys.password'],
    ];
    for (const [name, body, field] of refused) {
      await expect(fixture.putAccount(name, body)).rejects.toMatchObject({
        code: 'invalid_payload',
        options: { errors: [{ field }] },
      });
    }
    await expect(
      fixture.runInTransaction((tx) => updateAccount(tx, fixture.jobs.caller, 'right', {})),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(
      fixture.runInTransaction((tx) => deleteAccount(tx, fixture.jobs.caller, 'right')),
    ).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
