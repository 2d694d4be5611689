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
  beforeEach(() => fixture.nextPool());
  afterAll(() => fixture.close());

  it('a run that reports a failed account sets it aside until it is put back or gets a new secret', async () => {
    await fixture.put('failing');
    const { jobs, agents, dispatchAll } = await fixture.onAgents(2);
    await fixture.jobs.dispatch.startNext(agents[0]!);
    await expect(fixture.fail(jobs[0]!, 'locked', agents[1])).rejects.toMatchObject({ code: 'not_found' });
    await expect(fixture.fail(jobs[1]!)).rejects.toMatchObject({ code: 'not_found' });
    expect(await fixture.fail(jobs[0]!, 'locked', agents[0])).toEqual({ accepted: true });
    expect(await fixture.fail(jobs[0]!)).toMatchObject({ accepted: false });
    await fixture.end(jobs[0]!);
    await dispatchAll();
    expect([await fixture.held(), await fixture.statusOf('failing')]).toEqual([[], 'set_aside']);
    await fixture.put('failing');
    expect(await fixture.statusOf('failing')).toBe('set_aside');
    await fixture.jobs.query('DELETE FROM outbox');
    await fixture.within((tx) => updateAccount(tx, fixture.jobs.caller, 'failing', { enabled: true }));
    expect(await fixture.messagesOf(agents[1]!)).toHaveLength(1);
    // A report that is sent again does not set the account aside again.
    expect(await fixture.fail(jobs[0]!)).toMatchObject({ accepted: false });
    await dispatchAll();
    expect(await fixture.held()).toEqual([jobs[1]]);
    await fixture.fail(jobs[1]!, 'expired');
    await fixture.within((tx) => enableAccountsWithKey(tx, fixture.jobs.caller, 'OTHER'));
    expect(await fixture.statusOf('failing')).toBe('set_aside');
    await fixture.within((tx) => enableAccountsWithKey(tx, fixture.jobs.caller, 'PORTAL_PASS'));
    expect(await fixture.statusOf('failing')).toBe('busy');
    await fixture.end(jobs[1]!);
    const actions = await fixture.jobs.query(`SELECT action FROM audit_entry WHERE target_id = 'failing' ORDER BY id`);
    expect(actions.map(({ action }) => action)).toEqual([
      'account.create',
      'account.update',
      'account.update',
      'account.put_back',
    ]);
  });

  it('a report about a failed account waits for a dispatch that is choosing an account of the pool', async () => {
    await fixture.put('contended', { limit: 2 });
    const { jobs, agents } = await fixture.onAgents(1);
    await fixture.jobs.dispatch.startNext(agents[0]!);
    const [answer] = await runBehindLock(
      fixture.jobs.harness.db,
      (tx) => acquireAdvisoryLock(tx, 'account pool', fixture.jobs.organizationId, fixture.pool),
      () => [fixture.fail(jobs[0]!)],
    );
    expect(answer).toEqual({ accepted: true });
    await fixture.end(jobs[0]!);
  });

  it('a disabled or deleted account gets no new run, but the runs that had the account are still listed', async () => {
    await fixture.put('leaving');
    const { jobs, agents, dispatchAll } = await fixture.onAgents(3);
    await fixture.jobs.dispatch.startNext(agents[0]!);
    await fixture.within((tx) => updateAccount(tx, fixture.jobs.caller, 'leaving', { enabled: false }));
    expect(await fixture.statusOf('leaving')).toBe('disabled');
    await fixture.end(jobs[0]!);
    await dispatchAll();
    expect(await fixture.held()).toEqual([]);
    await fixture.within((tx) => updateAccount(tx, fixture.jobs.caller, 'leaving', { enabled: true }));
    await fixture.jobs.dispatch.startNext(agents[1]!);
    await fixture.within((tx) => deleteAccount(tx, fixture.jobs.caller, 'leaving'));
    expect(await fixture.usesOf('leaving')).toMatchObject([
      { jobId: jobs[1], until: null },
      { jobId: jobs[0], until: expect.any(Date) },
    ]);
    await fixture.put('leaving');
    await fixture.jobs.dispatch.startNext(agents[2]!);
    expect(await fixture.held()).toEqual([jobs[1]]);
    await fixture.end(jobs[1]!);
    await dispatchAll();
    expect(await fixture.held()).toEqual([jobs[2]]);
    await fixture.end(jobs[2]!);
    await expect(fixture.usesOf('never')).rejects.toMatchObject({ code: 'not_found' });
  });

  it('a run fails at its start if the vault no longer has a secret of its account', async () => {
    await fixture.put('without secret', { vaultKeys: { password: 'OTHER' } });
    const { jobs, dispatchAll } = await fixture.onAgents(1);
    await fixture.jobs.query(`UPDATE vault_secret SET key = 'HIDDEN' WHERE key = 'OTHER'`);
    await dispatchAll();
    expect(await fixture.read(jobs[0]!)).toMatchObject({ status: 'failed', errorCode: 'secret_missing' });
    expect(await fixture.held()).toEqual([]);
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
      await expect(fixture.put(name, body)).rejects.toMatchObject({
        code: 'invalid_payload',
        options: { errors: [{ field }] },
      });
    }
    await expect(fixture.within((tx) => updateAccount(tx, fixture.jobs.caller, 'right', {}))).rejects.toMatchObject({
      code: 'not_found',
    });
    await expect(fixture.within((tx) => deleteAccount(tx, fixture.jobs.caller, 'right'))).rejects.toMatchObject({
      code: 'not_found',
    });
  });
});
