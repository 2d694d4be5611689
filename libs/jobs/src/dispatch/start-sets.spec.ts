import { runBehindLock, runInFullSets } from '@muster/testing';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';

describe('concurrent starts', () => {
  let fixture: JobsFixture;
  let agentIds: string[];

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    agentIds = [];
    for (let count = 0; count < 5; count += 1) agentIds.push(await fixture.makeOnlineAgent());
  });

  const start = (agentId: string) => fixture.dispatch.startNextJob(agentId);
  const launchAll = () => Promise.all(agentIds.map((agentId) => fixture.launch({ agentId })));
  const commands = () =>
    fixture.query<{ jobId: string }>(
      `SELECT job_id FROM agent_command WHERE agent_id = ANY($1) AND kind = 'run' ORDER BY id`,
      [agentIds],
    );

  /** Returns in how many transactions the agents got their jobs, after each of them has got one. */
  const countTransactions = async () => {
    const entries = await fixture.query<{ transactionId: string }>(
      `SELECT transaction_id::text FROM timeline_entry WHERE agent_id = ANY($1) AND message LIKE 'sent to the agent%'`,
      [agentIds],
    );
    expect(entries).toHaveLength(agentIds.length);
    return new Set(entries.map(({ transactionId }) => transactionId)).size;
  };

  it('concurrent dispatches start the jobs of several agents in one transaction', async () => {
    const jobIds = await launchAll();
    const outcomes = await runInFullSets(() => Promise.all(agentIds.map(start)));
    expect(outcomes.map(({ action, jobId }) => [action, jobId])).toEqual(jobIds.map((jobId) => ['start', jobId]));
    const rows = await commands();
    expect(rows.map(({ jobId }) => jobId).sort()).toEqual([...jobIds].sort());
    // The first job started at once. The others arrived while its start was in progress.
    expect(await countTransactions()).toBe(2);
  });

  it('agents that are dispatched together each start a different one of the waiting jobs that name no agent', async () => {
    await fixture.query(`UPDATE agent SET labels = '{any}' WHERE id = ANY($1)`, [agentIds]);
    const [first, ...others] = agentIds as [string, ...string[]];
    const named = await fixture.launch({ agentId: others[1], priority: 9 });
    const jobIds = [named];
    for (let count = 0; count < 6; count += 1) jobIds.push(await fixture.launch({ target: { labels: ['any'] } }));
    const outcomes = await runInFullSets(() => Promise.all([first, ...others].map(start)));
    expect(outcomes.map(({ action }) => action)).toEqual(agentIds.map(() => 'start'));
    expect(outcomes[2]).toMatchObject({ jobId: named });
    const rows = await commands();
    expect(rows.map(({ jobId }) => jobId).sort()).toEqual(jobIds.slice(0, 5).sort());
    expect(await countTransactions()).toBe(2);
    await fixture.query('DELETE FROM job');
  });

  it('agents that are dispatched together start no job that names no agent before an earlier one that they could run', async () => {
    const labelsOf = [['any'], ['any', 'south'], ['any'], ['any', 'south'], ['any', 'west']];
    for (const [at, agentId] of agentIds.entries())
      await fixture.query('UPDATE agent SET labels = $2 WHERE id = $1', [agentId, labelsOf[at]]);
    const targets = ['any', 'south', 'any', 'west', 'south', 'any', 'any', 'south'];
    const jobIds: string[] = [];
    for (const label of targets) jobIds.push(await fixture.launch({ target: { labels: [label] } }));
    jobIds.push(await fixture.launch({ agentId: agentIds[3], priority: 1 }));
    const outcomes = await runInFullSets(() => Promise.all(agentIds.map(start)));
    expect(outcomes.map(({ action }) => action)).toEqual(agentIds.map(() => 'start'));
    const started = outcomes.map(({ jobId }) => jobIds.indexOf(jobId!));
    expect(new Set(started).size).toBe(agentIds.length);
    const overtaken = [...targets.keys()]
      .filter((job) => !started.includes(job))
      .filter((job) => started.some((later, at) => later > job && labelsOf[at]!.includes(targets[job]!)));
    expect(overtaken).toEqual([]);
    expect(await countTransactions()).toBe(2);
    await fixture.query('DELETE FROM job');
  });

  it('a job gets one run command if its agent is dispatched several times at once', async () => {
    const [agentId, ...others] = agentIds as [string, ...string[]];
    await launchAll();
    const outcomes = await Promise.all([...others, agentId, agentId, agentId].map(start));
    expect(outcomes.filter(({ action }) => action === 'start')).toHaveLength(agentIds.length);
    expect(await commands()).toHaveLength(agentIds.length);
  });

  it('the dispatch of several agents does not wait for an agent that another transaction has locked', async () => {
    const [first, locked, ...others] = agentIds as [string, string, ...string[]];
    await launchAll();
    let besides: Promise<unknown> | undefined;
    const [outcome] = await runBehindLock(
      fixture.harness.db,
      (tx) => tx.query('SELECT FROM agent WHERE id = $1 FOR UPDATE', [locked]),
      () => {
        const starting = [first, locked, ...others].map(start);
        besides = Promise.all(starting.filter((_, at) => at !== 1));
        return [starting[1]!];
      },
      // The other agents' jobs start while this agent is still locked.
      () => besides!,
    );
    expect(outcome).toMatchObject({ action: 'start' });
    expect(await commands()).toHaveLength(agentIds.length);
  });

  it('the limit of a concurrency key applies among agents that are dispatched together', async () => {
    for (const agentId of agentIds) await fixture.launch({ agentId, concurrencyKeys: [{ key: 'portal', limit: 2 }] });
    await Promise.all(agentIds.map(start));
    expect(await commands()).toHaveLength(2);
  });
});
