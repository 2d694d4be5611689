import { acquireAdvisoryLock, type Transaction } from '@muster/database';
import { Round } from '@muster/platform';
import { runBehindLock, makeWorkflow } from '@muster/testing';
import { deleteJob } from '../deletion/delete-job';
import { cancelWaitingJobs } from '../ends/cancel-waiting-jobs';
import { applyStopResult } from '../ends/apply-stop-result';
import { failRunAndKillProcesses } from '../ends/give-up-run';
import { deleteConcurrencyLimit, setConcurrencyLimit } from '../lists/concurrency-keys';
import { findJob } from '../lists/job-row';
import { applyJobReport } from '../reports/apply-job-report';
import { repairLeakedLeases } from './repair-leases';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

jest.setTimeout(60_000);

describe('concurrency keys', () => {
  let fixture: JobsFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  beforeEach(async () => {
    agentId = await fixture.makeOnlineAgent();
  });
  afterAll(() => fixture.close());

  const read = (id: string) => findJob(fixture.harness.db, fixture.organizationId, id);
  const end = (jobId: string, status: 'completed' | 'failed' = 'completed') =>
    applyJobReport(fixture.harness.db, { organizationId: fixture.organizationId, agentId: null }, { jobId, status });
  const concurrencyKeys = [{ key: 'portal' }];
  const holders = async () =>
    (await fixture.query('SELECT job_id FROM concurrency_lease WHERE since IS NOT NULL ORDER BY job_id')).map(
      ({ jobId }) => jobId as string,
    );
  const onAgents = async (count: number, input: object = { concurrencyKeys }) => {
    const agents = await Promise.all(Array.from({ length: count }, () => fixture.makeOnlineAgent()));
    const jobs: string[] = [];
    for (const id of agents) jobs.push(await fixture.launch({ agentId: id, ...input }));
    return {
      agents,
      jobs,
      dispatchAll: () => Promise.all(agents.map((id) => fixture.dispatch.startNextJob(id))),
    };
  };

  it('jobs that wait for a concurrency key start oldest first and never exceed the limit of the key', async () => {
    const { jobs, dispatchAll } = await onAgents(8);
    const ended: string[] = [];
    for (let round = 0; round < jobs.length; round += 1) {
      await dispatchAll();
      // A job that was skipped in favour of a job ahead of it starts in the next round if that other job did not start.
      await dispatchAll();
      const held = await holders();
      expect(held).toHaveLength(1);
      const waiting = jobs.filter((id) => !ended.includes(id) && id !== held[0]);
      for (const id of waiting) {
        expect(await read(id)).toMatchObject({
          waitingReason: 'concurrency_key',
          waitingFor: { key: 'portal', limit: 1, holders: held },
        });
      }
      ended.push(held[0]!);
      await end(held[0]!);
      expect(await holders()).toEqual([]);
    }
    expect(new Set(ended)).toEqual(new Set(jobs));
    // The eight dispatches race, so any of the jobs can start first. The jobs that wait afterwards start by age.
    expect(ended.slice(1)).toEqual(jobs.filter((id) => id !== ended[0]));
  });

  it('the limit of a concurrency key cannot change while a dispatch counts the key’s holders', async () => {
    const { harness, organizationId, caller } = fixture;
    const key = 'limited';
    const changes = [
      (tx: Transaction) => setConcurrencyLimit(tx, caller, { key, limit: 2 }),
      (tx: Transaction) => deleteConcurrencyLimit(tx, caller, key),
    ];
    for (const change of changes) {
      await runBehindLock(
        harness.db,
        (tx) => acquireAdvisoryLock(tx, 'concurrency key', organizationId, key),
        () => [harness.db.transaction({ organizationId }, change)],
      );
    }
    expect(await fixture.query('SELECT key FROM concurrency_limit WHERE key = $1', [key])).toEqual([]);
  });

  it('a full concurrency key blocks only the jobs that need the key, and only until the key is free', async () => {
    const { jobs, agents, dispatchAll } = await onAgents(2);
    await fixture.dispatch.startNextJob(agents[0]!);
    const next = await fixture.launch({ agentId: agents[1] });
    expect(await fixture.dispatch.startNextJob(agents[1]!)).toMatchObject({ action: 'start', jobId: next });
    expect((await read(jobs[1]!)).waitingReason).toBe('concurrency_key');
    await end(jobs[0]!);
    await end(next);
    await dispatchAll();
    expect(await holders()).toEqual([jobs[1]]);
    await end(jobs[1]!, 'failed');
  });

  it('a concurrency key has the smallest of its limits, and is free between a failed run and its retry', async () => {
    const { jobs, agents, dispatchAll } = await onAgents(2, {
      concurrencyKeys: [{ key: 'two', limit: 2 }],
      maxRetries: 1,
    });
    await dispatchAll();
    expect(await holders()).toEqual([...jobs].sort());
    const strict = await fixture.launch({
      agentId: await fixture.makeOnlineAgent(),
      concurrencyKeys: [{ key: 'two' }],
    });
    await fixture.dispatch.startNextJob((await read(strict)).agentId!);
    expect((await read(strict)).waitingFor).toMatchObject({ key: 'two', limit: 1 });
    for (const id of jobs) await end(id, 'failed');
    await fixture.dispatch.startNextJob((await read(strict)).agentId!);
    await dispatchAll();
    expect(await holders()).toEqual([strict]);
    await end(strict);
    await dispatchAll();
    await dispatchAll();
    const retries = await holders();
    expect(retries).toHaveLength(2);
    expect(agents.sort()).toEqual((await Promise.all(retries.map(read))).map(({ agentId }) => agentId).sort());
    for (const id of retries) await end(id);
  });

  it.each(['failed by the service', 'deleted', 'failed by the service and deleted'])(
    'a run that was %s holds its concurrency keys until its machine is cleared',
    async (how) => {
      const { jobs, agents, dispatchAll } = await onAgents(2);
      const [jobId, next] = jobs as [string, string];
      await fixture.dispatch.startNextJob(agents[0]!);
      const { organizationId, caller } = fixture;
      const now = new Date();
      await fixture.harness.db.transaction({ organizationId }, async (tx) => {
        const failure = {
          source: 'watchdog',
          reason: 'it stalled',
          code: 'execution_timeout',
          agentStatus: 'online',
        } as const;
        if (how !== 'deleted')
          await failRunAndKillProcesses(tx, {
            organizationId,
            jobId,
            agentId: agents[0]!,
            retries: false,
            now,
            ...failure,
          });
        if (how !== 'failed by the service')
          await deleteJob(tx, caller, jobId, { now, forget: () => Promise.resolve() });
      });
      await dispatchAll();
      expect(await holders()).toEqual([jobId]);
      expect((await read(next)).waitingReason).toBe('concurrency_key');
      const [{ clearingCommandId }] = (await fixture.query('SELECT clearing_command_id FROM agent WHERE id = $1', [
        agents[0],
      ])) as [{ clearingCommandId: string }];
      await fixture.query(`UPDATE agent_command SET status = 'success', output = '{"remaining":0}' WHERE id = $1`, [
        clearingCommandId,
      ]);
      await applyStopResult(fixture.harness.db, clearingCommandId);
      expect(await holders()).toEqual([]);
      await dispatchAll();
      expect(await holders()).toEqual([next]);
      await end(next);
    },
  );

  it('a run requires the concurrency keys of its workflow in addition to those of its launch', async () => {
    const { organizationId } = fixture;
    const { id: workflowId } = await makeWorkflow(fixture.harness.db, { organizationId, variables: ['USER'] });
    const workflowKeys = JSON.stringify([{ key: 'login:{{USER}}', limit: 2 }]);
    await fixture.query('UPDATE workflow SET concurrency_keys = $2 WHERE id = $1', [workflowId, workflowKeys]);
    const launch = (keys: { key: string }[] = []) =>
      fixture.launch({ workflowId, agentId, variables: { USER: 'ann' }, concurrencyKeys: keys });
    const jobId = await launch([{ key: 'login:ann' }, { key: 'b' }]);
    const leasesSql = 'SELECT key, most FROM concurrency_lease WHERE job_id = $1 ORDER BY key';
    expect(await fixture.query(leasesSql, [jobId])).toEqual([
      { key: 'b', most: 1 },
      { key: 'login:ann', most: 1 },
    ]);
    await expect(launch(['c', 'd', 'e', 'f', 'g'].map((key) => ({ key })))).rejects.toMatchObject({
      code: 'invalid_payload',
    });
    await fixture.dispatch.startNextJob(agentId);
    await end(jobId);
  });

  it('an organization’s limit of a concurrency key applies if it is the smallest limit, even if it is 0', async () => {
    const { organizationId, caller } = fixture;
    const key = 'paused';
    const within = (work: (tx: Transaction) => Promise<void>) =>
      fixture.harness.db.transaction({ organizationId }, work);
    await within((tx) => setConcurrencyLimit(tx, caller, { key, limit: 0 }));
    const { jobs, dispatchAll } = await onAgents(3, { concurrencyKeys: [{ key, limit: 3 }] });
    await dispatchAll();
    expect(await holders()).toEqual([]);
    expect((await read(jobs[0]!)).waitingFor).toEqual({ key, limit: 0, holders: [] });
    await within((tx) => setConcurrencyLimit(tx, caller, { key, limit: 2 }));
    await dispatchAll();
    await dispatchAll();
    expect(await holders()).toHaveLength(2);
    await within((tx) => deleteConcurrencyLimit(tx, caller, key));
    await dispatchAll();
    expect(await holders()).toEqual([...jobs].sort());
    await expect(within((tx) => deleteConcurrencyLimit(tx, caller, key))).rejects.toMatchObject({ code: 'not_found' });
    for (const id of jobs) await end(id);
  });

  it('the repair releases a concurrency key only if the run that holds the key has ended', async () => {
    const { jobs, dispatchAll } = await onAgents(2);
    await dispatchAll();
    const repair = () => repairLeakedLeases(fixture.harness.db, new Round('repair leases'));
    expect(await repair()).toMatchObject({ repaired: 0 });
    const [holder] = await holders();
    await end(holder!);
    await fixture.query(
      `INSERT INTO concurrency_lease (organization_id, key, job_id, agent_id, most, priority, queued_at, since)
       SELECT organization_id, key, $1, agent_id, most, priority, queued_at, now()
       FROM concurrency_lease WHERE key = 'portal' AND job_id <> $1`,
      [holder],
    );
    await dispatchAll();
    expect(await holders()).toEqual([holder]);
    expect(await repair()).toMatchObject({ repaired: 1 });
    await dispatchAll();
    expect(await holders()).toEqual(jobs.filter((id) => id !== holder));
    await end(jobs.find((id) => id !== holder)!);
  });

  it('a cancelled job no longer waits for a concurrency key', async () => {
    const { jobs, agents } = await onAgents(2);
    const { organizationId } = fixture;
    await fixture.dispatch.startNextJob(agents[0]!);
    await fixture.harness.db.transaction({ organizationId }, (tx) =>
      cancelWaitingJobs(tx, { organizationId, ids: jobs, source: 'api' }),
    );
    expect(await fixture.query('SELECT job_id FROM concurrency_lease')).toEqual([{ jobId: jobs[0] }]);
    await end(jobs[0]!);
    expect(await fixture.query('SELECT job_id FROM concurrency_lease')).toEqual([]);
  });

  it('a concurrency key can contain the variables of the workflow and no others', async () => {
    const odd = `%_'"{}\\ \u2028ключ`;
    const { id: workflowId } = await makeWorkflow(fixture.harness.db, {
      organizationId: fixture.organizationId,
      variables: ['USER'],
    });
    const launch = (key: string, USER = odd) =>
      fixture.launch({ workflowId, agentId, variables: { USER }, concurrencyKeys: [{ key }] });
    const jobId = await launch('portal:{{USER}}');
    await fixture.dispatch.startNextJob(agentId);
    expect(await fixture.query('SELECT key FROM concurrency_lease WHERE job_id = $1', [jobId])).toEqual([
      { key: `portal:${odd}` },
    ]);
    await end(jobId);
    await expect(launch('portal:{{PASSWORD}}')).rejects.toMatchObject({ code: 'invalid_payload' });
    await expect(launch('portal:{{USER}}', 'x'.repeat(200))).rejects.toMatchObject({ code: 'invalid_payload' });
    await expect(launch('{{USER}}', ' ')).rejects.toMatchObject({ code: 'invalid_payload' });
    // Braces in the value of a variable are not replaced.
    await end(await launch('{{USER}}', '{{USER}}'));
  });
});
