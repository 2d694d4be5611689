import { Round } from '@muster/platform';
import { countDeadlocks, makeWorkflow } from '@muster/testing';
import { launchBatch } from '../batches/launch-batch';
import { deleteJob } from '../deletion/delete-job';
import { repairLeakedLeases } from '../dispatch/repair-leases';
import { cancelWaitingJobs } from '../ends/cancel-waiting-jobs';
import { applyStopResult } from '../ends/apply-stop-result';
import { failRunAndKillProcesses } from '../ends/give-up-run';
import { replayJob } from '../launch/replay-job';
import { AccountsFixture } from './accounts.harness';
import { enqueueJobsWithFreeAccounts } from './borrow-accounts';

jest.setTimeout(60_000);

describe('accounts that runs borrow', () => {
  let fixture: AccountsFixture;

  beforeAll(async () => {
    fixture = await AccountsFixture.open();
  });
  beforeEach(() => fixture.useNewPool());
  afterAll(() => fixture.close());

  it('no account has more runs than its limit at any time, however many runs request accounts of its pool', async () => {
    await fixture.putAccount('first');
    await fixture.putAccount('second');
    const { jobs, dispatchAll } = await fixture.launchOnAgents(20);
    const before = await countDeadlocks(fixture.jobs.harness.db);
    const ended: string[] = [];
    while (ended.length < jobs.length) {
      await dispatchAll();
      // A job that was skipped in favour of a job ahead of it starts in the next round if that other job did not start.
      await dispatchAll();
      const now = await fixture.listHolders();
      expect(new Set(now.map(({ account }) => account)).size).toBe(now.length);
      expect(now).toHaveLength(Math.min(2, jobs.length - ended.length));
      const waiting = jobs.filter((id) => !ended.includes(id) && !now.some(({ jobId }) => jobId === id));
      for (const id of waiting.slice(0, 3)) {
        expect(await fixture.readJob(id)).toMatchObject({
          waitingReason: 'account_busy',
          waitingFor: { pool: fixture.pool, holders: now.map(({ jobId }) => jobId) },
        });
      }
      for (const { jobId } of now) {
        await fixture.endRun(jobId);
        ended.push(jobId);
      }
    }
    expect(new Set(ended)).toEqual(new Set(jobs));
    expect(await fixture.listHolders()).toEqual([]);
    expect([await fixture.readStatus('first'), await fixture.readStatus('second')]).toEqual(['free', 'free']);
    const uses = [await fixture.listUses('first'), await fixture.listUses('second')];
    expect(uses.map((each) => each.length)).toEqual([10, 10]);
    for (const each of uses) {
      for (const [at, use] of each.slice(1).entries()) expect(use.until! <= each[at]!.since).toBe(true);
    }
    expect(await countDeadlocks(fixture.jobs.harness.db)).toBe(before);
  });

  it('a run gets the free account of the pool that was unused longest', async () => {
    for (const name of ['a', 'b', 'c']) await fixture.putAccount(name);
    const agentId = await fixture.jobs.makeOnlineAgent();
    const order: string[] = [];
    for (let run = 0; run < 5; run += 1) {
      const jobId = await fixture.jobs.launch({ agentId, accounts: fixture.listRequests() });
      await fixture.jobs.dispatch.startNextJob(agentId);
      const [holder] = await fixture.listHolders();
      order.push(holder!.account);
      await fixture.endRun(jobId);
    }
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b']);
  });

  it('a run leaves an account to a run that waits longer for it', async () => {
    await fixture.putAccount('wanted');
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(3);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await dispatchAll();
    await fixture.endRun(jobs[0]!);
    await fixture.jobs.dispatch.startNextJob(agents[2]!);
    expect(await fixture.listHoldingJobs()).toEqual([]);
    await fixture.jobs.dispatch.startNextJob(agents[1]!);
    expect(await fixture.listHoldingJobs()).toEqual([jobs[1]]);
    await fixture.endRun(jobs[1]!);
    await fixture.jobs.dispatch.startNextJob(agents[2]!);
    await fixture.endRun(jobs[2]!);
  });

  it('a run waits for its account even if the run that has the account is on the same machine', async () => {
    await fixture.putAccount('same machine');
    const { jobs, agents } = await fixture.launchOnAgents(1);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await fixture.reportStatus(jobs[0]!, 'running');
    const next = await fixture.jobs.launch({ agentId: agents[0], accounts: fixture.listRequests() });
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    expect(await fixture.readJob(next)).toMatchObject({ waitingReason: 'account_busy', waitingFor: { holders: jobs } });
    await fixture.endRun(jobs[0]!);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await fixture.endRun(next);
  });

  it('a run gets its account’s secrets under the names that the run specifies, and no value is stored in the database', async () => {
    await fixture.putAccount('named');
    const { jobs, dispatchAll } = await fixture.launchOnAgents(1);
    await dispatchAll();
    const [command] = await fixture.jobs.query(
      'SELECT payload, env, vault_keys, secret_aliases FROM agent_command WHERE job_id = $1',
      [jobs[0]],
    );
    expect(command).toMatchObject({
      payload: { accounts: { PORTAL: fixture.pool } },
      vaultKeys: [],
      secretAliases: { PORTAL_USERNAME: 'PORTAL_USER', PORTAL_PASSWORD: 'PORTAL_PASS' },
    });
    expect(JSON.stringify(command)).not.toContain('value of');
    expect(await fixture.readStatus('named')).toBe('busy');
    await fixture.endRun(jobs[0]!);
  });

  it('a run with an account and a concurrency key starts only when both are free', async () => {
    await fixture.putAccount('both');
    const keys = [{ key: fixture.pool }];
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(1, { concurrencyKeys: keys });
    await dispatchAll();
    const agentId = await fixture.jobs.makeOnlineAgent();
    const both = await fixture.jobs.launch({ agentId, accounts: fixture.listRequests(), concurrencyKeys: keys });
    await fixture.jobs.dispatch.startNextJob(agentId);
    expect(await fixture.readJob(both)).toMatchObject({ waitingReason: 'concurrency_key' });
    const other = await fixture.jobs.launch({ agentId: agents[0], accounts: fixture.listRequests(), priority: 10 });
    await fixture.endRun(jobs[0]!);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    expect(await fixture.listHoldingJobs()).toEqual([other]);
    await fixture.jobs.dispatch.startNextJob(agentId);
    expect(await fixture.readJob(both)).toMatchObject({
      waitingReason: 'account_busy',
      waitingFor: { pool: fixture.pool, holders: [other] },
    });
    await fixture.endRun(other);
    await fixture.jobs.dispatch.startNextJob(agentId);
    expect(await fixture.listHoldingJobs()).toEqual([both]);
    await fixture.endRun(both);
  });

  it('a run that waits for an account neither blocks its agent’s other runs nor wakes its machine', async () => {
    await fixture.putAccount('taken');
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(2);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    const next = await fixture.jobs.launch({ agentId: agents[1] });
    await fixture.jobs.query(`UPDATE agent SET status = 'stopped', provider = 'ec2' WHERE id = $1`, [agents[1]]);
    await fixture.jobs.query(`UPDATE job SET priority = 0 WHERE id = $1`, [next]);
    await fixture.runInTransaction((tx) =>
      cancelWaitingJobs(tx, { organizationId: fixture.jobs.organizationId, ids: [next], source: 'api' }),
    );
    expect(await fixture.jobs.dispatch.startNextJob(agents[1]!)).toMatchObject({ action: 'none' });
    expect((await fixture.readJob(jobs[1]!)).waitingReason).toBe('account_busy');
    await fixture.jobs.query(`UPDATE agent SET status = 'online' WHERE id = $1`, [agents[1]]);
    const plain = await fixture.jobs.launch({ agentId: agents[1] });
    expect(await fixture.jobs.dispatch.startNextJob(agents[1]!)).toMatchObject({ action: 'start', jobId: plain });
    await fixture.endRun(plain);
    await fixture.endRun(jobs[0]!);
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toEqual([jobs[1]]);
    await fixture.endRun(jobs[1]!);
  });

  it('the accounts of a failed run are free until its retry or a replay requests them again', async () => {
    await fixture.putAccount('shared');
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(1, {
      accounts: fixture.listRequests(),
      maxRetries: 1,
    });
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toEqual(jobs);
    const other = await fixture.jobs.makeOnlineAgent();
    const between = await fixture.jobs.launch({ agentId: other, accounts: fixture.listRequests(), priority: 10 });
    await fixture.jobs.dispatch.startNextJob(other);
    await fixture.endRun(jobs[0]!, 'failed');
    await fixture.jobs.dispatch.startNextJob(other);
    expect(await fixture.listHoldingJobs()).toEqual([between]);
    await dispatchAll();
    const [retry] = await fixture.jobs.query<{ id: string }>('SELECT id FROM job WHERE retry_of = $1', [jobs[0]]);
    expect((await fixture.readJob(retry!.id)).waitingFor).toEqual({ pool: fixture.pool, holders: [between] });
    await fixture.endRun(between);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    expect(await fixture.listHoldingJobs()).toEqual([retry!.id]);
    await fixture.endRun(retry!.id);
    const replay = await fixture.runInTransaction((tx) => replayJob(tx, fixture.jobs.caller, jobs[0]!, new Date()));
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    expect(await fixture.listHoldingJobs()).toEqual([replay.jobId]);
    await fixture.endRun(replay.jobId);
  });

  it.each(['failed by the service', 'deleted', 'failed by the service and deleted'])(
    'a run that was %s has its account until its machine is cleared',
    async (how) => {
      await fixture.putAccount(`cleared ${how}`);
      const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(2);
      const [jobId, next] = jobs as [string, string];
      const agentId = agents[0]!;
      await fixture.jobs.dispatch.startNextJob(agentId);
      const { organizationId, caller } = fixture.jobs;
      const now = new Date();
      await fixture.runInTransaction(async (tx) => {
        const failure = { source: 'watchdog', reason: 'it stalled', code: 'execution_timeout' } as const;
        const run = { organizationId, jobId, agentId, agentStatus: 'online', retries: false, now } as const;
        if (how !== 'deleted') await failRunAndKillProcesses(tx, { ...run, ...failure });
        if (how !== 'failed by the service')
          await deleteJob(tx, caller, jobId, { now, forget: () => Promise.resolve() });
      });
      await dispatchAll();
      expect(await fixture.listHoldingJobs()).toEqual([jobId]);
      expect((await fixture.readJob(next)).waitingReason).toBe('account_busy');
      const [cleared] = await fixture.jobs.query<{ id: string }>(
        'SELECT clearing_command_id AS id FROM agent WHERE id = $1',
        [agentId],
      );
      await fixture.jobs.query(
        `UPDATE agent_command SET status = 'success', output = '{"remaining":0}' WHERE id = $1`,
        [cleared!.id],
      );
      await applyStopResult(fixture.jobs.harness.db, cleared!.id);
      expect(await fixture.listHoldingJobs()).toEqual([]);
      await dispatchAll();
      expect(await fixture.listHoldingJobs()).toEqual([next]);
      await fixture.endRun(next);
      expect((await fixture.listUses(`cleared ${how}`)).map((use) => [use.jobId, use.until !== null])).toEqual([
        [next, true],
        [jobId, true],
      ]);
    },
  );

  it('a run that waits for an account starts when the account’s rest after the previous run has ended', async () => {
    await fixture.putAccount('tired', { cooldownSeconds: 3600 });
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(2);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await fixture.jobs.query(`DELETE FROM outbox WHERE payload ->> 'agentId' = $1`, [agents[1]]);
    await fixture.jobs.dispatch.startNextJob(agents[1]!);
    await fixture.endRun(jobs[0]!);
    expect(await fixture.readStatus('tired')).toBe('resting');
    expect(await fixture.listDispatchMessages(agents[1]!)).toEqual([]);
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toEqual([]);
    expect((await fixture.readJob(jobs[1]!)).waitingFor).toEqual({ pool: fixture.pool, holders: [] });
    await enqueueJobsWithFreeAccounts(fixture.jobs.harness.db);
    expect(await fixture.listDispatchMessages(agents[1]!)).toEqual([]);
    await fixture.jobs.query(`UPDATE account_use SET until = until - interval '1 hour' WHERE job_id = $1`, [jobs[0]]);
    expect(await fixture.readStatus('tired')).toBe('free');
    await enqueueJobsWithFreeAccounts(fixture.jobs.harness.db);
    expect(await fixture.listDispatchMessages(agents[1]!)).toHaveLength(1);
    await fixture.jobs.dispatch.startNextJob(agents[1]!);
    expect(await fixture.listHoldingJobs()).toEqual([jobs[1]]);
    await fixture.endRun(jobs[1]!);
  });

  it('an account with the limit 2 serves two runs at a time, and the first waiting run when one of them ends', async () => {
    await fixture.putAccount('wide', { limit: 2 });
    const { jobs, agents, dispatchAll } = await fixture.launchOnAgents(3);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    expect(await fixture.readStatus('wide')).toBe('free');
    await dispatchAll();
    await dispatchAll();
    expect(await fixture.readStatus('wide')).toBe('busy');
    const first = await fixture.listHoldingJobs();
    expect(first).toHaveLength(2);
    const waiting = jobs.find((id) => !first.includes(id))!;
    await fixture.jobs.query('DELETE FROM outbox');
    await fixture.endRun(first[0]!);
    expect(await fixture.listDispatchMessages((await fixture.readJob(waiting)).agentId!)).toHaveLength(1);
    await dispatchAll();
    expect(await fixture.listHoldingJobs()).toContain(waiting);
    for (const id of await fixture.listHoldingJobs()) await fixture.endRun(id);
  });

  it('the runs of a workflow and of its batches request its accounts in addition to those of their launches', async () => {
    const { organizationId, caller } = fixture.jobs;
    const other = `${fixture.pool} of the launch`;
    await fixture.putAccount('of workflow');
    await fixture.putAccount('of launch', { pool: other });
    const { id: workflowId } = await makeWorkflow(fixture.jobs.harness.db, { organizationId });
    await fixture.jobs.query('UPDATE workflow SET accounts = $2 WHERE id = $1', [
      workflowId,
      JSON.stringify(fixture.listRequests()),
    ]);
    const agentId = await fixture.jobs.makeOnlineAgent();
    const launchWithAccounts = (accounts: { pool: string; as: string }[]) =>
      fixture.jobs.launch({ workflowId, agentId, accounts });
    const both = await launchWithAccounts([...fixture.listRequests(), { pool: other, as: 'SECOND' }]);
    await fixture.jobs.dispatch.startNextJob(agentId);
    const uses = await fixture.jobs.query('SELECT account FROM account_use WHERE job_id = $1 ORDER BY account', [both]);
    expect(uses).toEqual([{ account: 'of launch' }, { account: 'of workflow' }]);
    await fixture.endRun(both);
    const wrong: [{ pool: string; as: string }[], string][] = [
      [[{ pool: fixture.pool, as: 'ANOTHER' }], 'accounts.0.pool'],
      [[{ pool: other, as: 'PORTAL' }], 'accounts.0.as'],
      [[{ pool: other, as: 'LD' }], 'accounts.0.as'],
      [[{ pool: other, as: '1ST' }], 'accounts.0.as'],
      [['a', 'b', 'c'].map((name) => ({ pool: name, as: name })), 'accounts'],
    ];
    for (const [accounts, field] of wrong) {
      await expect(launchWithAccounts(accounts)).rejects.toMatchObject({
        code: 'invalid_payload',
        options: { errors: [{ field }] },
      });
    }
    const { jobIds } = await fixture.runInTransaction((tx) =>
      launchBatch(tx, caller, {
        input: { workflowId, agentIds: [agentId] },
        rows: [1, 2].map((row) => ({ row, cells: new Map(), errors: [] })),
        now: new Date(),
      }),
    );
    await fixture.jobs.dispatch.startNextJob(agentId);
    expect(await fixture.listHoldingJobs()).toEqual([jobIds[0]]);
    for (const id of jobIds) {
      await fixture.endRun(id);
      await fixture.jobs.dispatch.startNextJob(agentId);
    }
    expect(await fixture.listHoldingJobs()).toEqual([]);
  });

  it('the repair of account uses frees an account only if the run that has the account has ended', async () => {
    await fixture.putAccount('leaked');
    const { jobs, agents } = await fixture.launchOnAgents(2);
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    const repairLeases = () => repairLeakedLeases(fixture.jobs.harness.db, new Round('repair leases'));
    expect(await repairLeases()).toMatchObject({ repaired: 0 });
    await fixture.endRun(jobs[0]!);
    await fixture.jobs.query('UPDATE account_use SET until = NULL WHERE job_id = $1', [jobs[0]]);
    await fixture.jobs.dispatch.startNextJob(agents[1]!);
    expect(await fixture.listHoldingJobs()).toEqual([jobs[0]]);
    expect(await repairLeases()).toMatchObject({ repaired: 1 });
    await fixture.jobs.dispatch.startNextJob(agents[1]!);
    expect(await fixture.listHoldingJobs()).toEqual([jobs[1]]);
    await fixture.endRun(jobs[1]!);
  });

  it('a cancelled job no longer waits for an account', async () => {
    await fixture.putAccount('cancelled');
    const { jobs, agents } = await fixture.launchOnAgents(2);
    const { organizationId } = fixture.jobs;
    await fixture.jobs.dispatch.startNextJob(agents[0]!);
    await fixture.runInTransaction((tx) => cancelWaitingJobs(tx, { organizationId, ids: jobs, source: 'api' }));
    const listOpenUses = () =>
      fixture.jobs.query('SELECT job_id FROM account_use WHERE pool = $1 AND until IS NULL', [fixture.pool]);
    expect(await listOpenUses()).toEqual([{ jobId: jobs[0] }]);
    await fixture.endRun(jobs[0]!);
    expect(await listOpenUses()).toEqual([]);
  });
});
