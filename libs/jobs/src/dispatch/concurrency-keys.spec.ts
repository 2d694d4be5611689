import { lock, type Transaction } from '@muster/database';
import { Round } from '@muster/platform';
import { behindLock, makeWorkflow } from '@muster/testing';
import { deleteJob } from '../deletion/delete-job';
import { cancelWaitingJobs } from '../ends/cancel-waiting-jobs';
import { confirmStop } from '../ends/confirm-stop';
import { giveUpRun } from '../ends/give-up-run';
import { deleteConcurrencyLimit, setConcurrencyLimit } from '../lists/concurrency-keys';
import { findJob } from '../lists/job-row';
import { applyJobReport } from '../reports/apply-job-report';
import { repairLeases } from './repair-leases';
import { type JobsLab, openJobsLab } from '../testing/jobs.harness';

jest.setTimeout(60_000);

describe('concurrency keys', () => {
  let lab: JobsLab;
  let agentId: string;

  beforeAll(async () => {
    lab = await openJobsLab();
  });
  beforeEach(async () => {
    agentId = await lab.makeOnlineAgent();
  });
  afterAll(() => lab.close());

  const read = (id: string) => findJob(lab.harness.db, lab.organizationId, id);
  const end = (jobId: string, status: 'completed' | 'failed' = 'completed') =>
    applyJobReport(lab.harness.db, { organizationId: lab.organizationId, agentId: null }, { jobId, status });
  const concurrencyKeys = [{ key: 'portal' }];
  const holders = async () =>
    (await lab.query('SELECT job_id FROM concurrency_lease WHERE since IS NOT NULL ORDER BY job_id')).map(
      ({ jobId }) => jobId as string,
    );
  const onAgents = async (count: number, input: object = { concurrencyKeys }) => {
    const agents = await Promise.all(Array.from({ length: count }, () => lab.makeOnlineAgent()));
    const jobs: string[] = [];
    for (const id of agents) jobs.push(await lab.launch({ agentId: id, ...input }));
    return { agents, jobs, look: () => Promise.all(agents.map((id) => lab.dispatch.startNext(id))) };
  };

  it('are held by at most as many runs as their limit, by priority and age, under concurrent dispatches', async () => {
    const { jobs, look } = await onAgents(8);
    const ended: string[] = [];
    for (let round = 0; round < jobs.length; round += 1) {
      await look();
      // A job that was skipped for one ahead of it starts in the next round, if the job ahead did not start.
      await look();
      const held = await holders();
      expect(held).toHaveLength(1);
      const waiting = jobs.filter((id) => !ended.includes(id) && id !== held[0]);
      for (const id of waiting) {
        expect(await read(id)).toMatchObject({
          waitingReason: 'concurrency_key',
          waitingForKey: { key: 'portal', limit: 1, holders: held },
        });
      }
      ended.push(held[0]!);
      await end(held[0]!);
      expect(await holders()).toEqual([]);
    }
    expect(new Set(ended)).toEqual(new Set(jobs));
    // Which of the eight concurrent jobs starts first is a race; the waiting ones start by age.
    expect(ended.slice(1)).toEqual(jobs.filter((id) => id !== ended[0]));
  });

  it('have their limit changed and deleted only while no dispatch counts the holders', async () => {
    const { harness, organizationId, caller } = lab;
    const key = 'limited';
    const changes = [
      (tx: Transaction) => setConcurrencyLimit(tx, caller, { key, limit: 2 }),
      (tx: Transaction) => deleteConcurrencyLimit(tx, caller, key),
    ];
    for (const change of changes) {
      await behindLock(
        harness.db,
        (tx) => lock(tx, 'concurrency key', organizationId, key),
        () => [harness.db.transaction({ organizationId }, change)],
      );
    }
    expect(await lab.query('SELECT key FROM concurrency_limit WHERE key = $1', [key])).toEqual([]);
  });

  it('do not block a job without keys, and let the waiting job start once they are free', async () => {
    const { jobs, agents, look } = await onAgents(2);
    await lab.dispatch.startNext(agents[0]!);
    const next = await lab.launch({ agentId: agents[1] });
    expect(await lab.dispatch.startNext(agents[1]!)).toMatchObject({ action: 'start', jobId: next });
    expect((await read(jobs[1]!)).waitingReason).toBe('concurrency_key');
    await end(jobs[0]!);
    await end(next);
    await look();
    expect(await holders()).toEqual([jobs[1]]);
    await end(jobs[1]!, 'failed');
  });

  it('have the smallest of several limits, and are released between a failed run and its retry', async () => {
    const { jobs, agents, look } = await onAgents(2, { concurrencyKeys: [{ key: 'two', limit: 2 }], maxRetries: 1 });
    await look();
    expect(await holders()).toEqual([...jobs].sort());
    const strict = await lab.launch({ agentId: await lab.makeOnlineAgent(), concurrencyKeys: [{ key: 'two' }] });
    await lab.dispatch.startNext((await read(strict)).agentId);
    expect((await read(strict)).waitingForKey).toMatchObject({ key: 'two', limit: 1 });
    for (const id of jobs) await end(id, 'failed');
    await lab.dispatch.startNext((await read(strict)).agentId);
    await look();
    expect(await holders()).toEqual([strict]);
    await end(strict);
    await look();
    await look();
    const retries = await holders();
    expect(retries).toHaveLength(2);
    expect(agents.sort()).toEqual((await Promise.all(retries.map(read))).map(({ agentId }) => agentId).sort());
    for (const id of retries) await end(id);
  });

  it.each(['failed by the service', 'deleted', 'failed by the service and deleted'])(
    'are held by a run that is %s until its machine is cleared',
    async (how) => {
      const { jobs, agents, look } = await onAgents(2);
      const [jobId, next] = jobs as [string, string];
      await lab.dispatch.startNext(agents[0]!);
      const { organizationId, caller } = lab;
      const now = new Date();
      await lab.harness.db.transaction({ organizationId }, async (tx) => {
        const word = {
          source: 'watchdog',
          reason: 'it stalled',
          code: 'execution_timeout',
          agentStatus: 'online',
        } as const;
        if (how !== 'deleted')
          await giveUpRun(tx, { organizationId, jobId, agentId: agents[0]!, retries: false, now, ...word });
        if (how !== 'failed by the service')
          await deleteJob(tx, caller, jobId, { now, forget: () => Promise.resolve() });
      });
      await look();
      expect(await holders()).toEqual([jobId]);
      expect((await read(next)).waitingReason).toBe('concurrency_key');
      const [{ clearingCommandId }] = (await lab.query('SELECT clearing_command_id FROM agent WHERE id = $1', [
        agents[0],
      ])) as [{ clearingCommandId: string }];
      await lab.query(`UPDATE agent_command SET status = 'success', output = '{"remaining":0}' WHERE id = $1`, [
        clearingCommandId,
      ]);
      await confirmStop(lab.harness.db, clearingCommandId);
      expect(await holders()).toEqual([]);
      await look();
      expect(await holders()).toEqual([next]);
      await end(next);
    },
  );

  it('are required by each run of a workflow that has keys, in addition to the keys of the launch', async () => {
    const { organizationId } = lab;
    const { id: workflowId } = await makeWorkflow(lab.harness.db, { organizationId, variables: ['USER'] });
    const ofWorkflow = JSON.stringify([{ key: 'login:{{USER}}', limit: 2 }]);
    await lab.query('UPDATE workflow SET concurrency_keys = $2 WHERE id = $1', [workflowId, ofWorkflow]);
    const launch = (keys: { key: string }[] = []) =>
      lab.launch({ workflowId, agentId, variables: { USER: 'ann' }, concurrencyKeys: keys });
    const jobId = await launch([{ key: 'login:ann' }, { key: 'b' }]);
    const asked = 'SELECT key, most FROM concurrency_lease WHERE job_id = $1 ORDER BY key';
    expect(await lab.query(asked, [jobId])).toEqual([
      { key: 'b', most: 1 },
      { key: 'login:ann', most: 1 },
    ]);
    await expect(launch(['c', 'd', 'e', 'f', 'g'].map((key) => ({ key })))).rejects.toMatchObject({
      code: 'invalid_payload',
    });
    await lab.dispatch.startNext(agentId);
    await end(jobId);
  });

  it('can have a limit of the organization, which applies if it is the smallest; with 0 no run starts', async () => {
    const { organizationId, caller } = lab;
    const key = 'paused';
    const within = (work: (tx: Transaction) => Promise<void>) => lab.harness.db.transaction({ organizationId }, work);
    await within((tx) => setConcurrencyLimit(tx, caller, { key, limit: 0 }));
    const { jobs, look } = await onAgents(3, { concurrencyKeys: [{ key, limit: 3 }] });
    await look();
    expect(await holders()).toEqual([]);
    expect((await read(jobs[0]!)).waitingForKey).toEqual({ key, limit: 0, holders: [] });
    await within((tx) => setConcurrencyLimit(tx, caller, { key, limit: 2 }));
    await look();
    await look();
    expect(await holders()).toHaveLength(2);
    await within((tx) => deleteConcurrencyLimit(tx, caller, key));
    await look();
    expect(await holders()).toEqual([...jobs].sort());
    await expect(within((tx) => deleteConcurrencyLimit(tx, caller, key))).rejects.toMatchObject({ code: 'not_found' });
    for (const id of jobs) await end(id);
  });

  it('are released if they were leaked, and only then', async () => {
    const { jobs, look } = await onAgents(2);
    await look();
    const repair = () => repairLeases(lab.harness.db, new Round('repair leases'));
    expect(await repair()).toMatchObject({ repaired: 0 });
    const [holder] = await holders();
    await end(holder!);
    await lab.query(
      `INSERT INTO concurrency_lease (organization_id, key, job_id, agent_id, most, priority, queued_at, since)
       SELECT organization_id, key, $1, agent_id, most, priority, queued_at, now()
       FROM concurrency_lease WHERE key = 'portal' AND job_id <> $1`,
      [holder],
    );
    await look();
    expect(await holders()).toEqual([holder]);
    expect(await repair()).toMatchObject({ repaired: 1 });
    await look();
    expect(await holders()).toEqual(jobs.filter((id) => id !== holder));
    await end(jobs.find((id) => id !== holder)!);
  });

  it('are no longer waited for by a cancelled job', async () => {
    const { jobs, agents } = await onAgents(2);
    const { organizationId } = lab;
    await lab.dispatch.startNext(agents[0]!);
    await lab.harness.db.transaction({ organizationId }, (tx) =>
      cancelWaitingJobs(tx, { organizationId, ids: jobs, source: 'api' }),
    );
    expect(await lab.query('SELECT job_id FROM concurrency_lease')).toEqual([{ jobId: jobs[0] }]);
    await end(jobs[0]!);
    expect(await lab.query('SELECT job_id FROM concurrency_lease')).toEqual([]);
  });

  it('can contain the variables of the workflow and no others', async () => {
    const odd = `%_'"{}\\ \u2028ключ`;
    const { id: workflowId } = await makeWorkflow(lab.harness.db, {
      organizationId: lab.organizationId,
      variables: ['USER'],
    });
    const launch = (key: string, USER = odd) =>
      lab.launch({ workflowId, agentId, variables: { USER }, concurrencyKeys: [{ key }] });
    const jobId = await launch('portal:{{USER}}');
    await lab.dispatch.startNext(agentId);
    expect(await lab.query('SELECT key FROM concurrency_lease WHERE job_id = $1', [jobId])).toEqual([
      { key: `portal:${odd}` },
    ]);
    await end(jobId);
    await expect(launch('portal:{{PASSWORD}}')).rejects.toMatchObject({ code: 'invalid_payload' });
    await expect(launch('portal:{{USER}}', 'x'.repeat(200))).rejects.toMatchObject({ code: 'invalid_payload' });
    await expect(launch('{{USER}}', ' ')).rejects.toMatchObject({ code: 'invalid_payload' });
    // Braces in the value of a variable are plain text.
    await end(await launch('{{USER}}', '{{USER}}'));
  });
});
