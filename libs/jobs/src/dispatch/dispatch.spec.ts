import { Transaction } from '@muster/database';
import { findUnequalCounters } from '@muster/pricing';
import { makeAgent, makeWorkflow } from '@muster/testing';
import { applyJobReport } from '../reports/apply-job-report';
import { decideJobStart, type StartFacts } from './decide-start';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { sweepDispatch } from './sweep-dispatch';

jest.setTimeout(60_000);

describe('decideStart', () => {
  const facts: StartFacts = {
    agent: { status: 'online', provider: 'local', drain: null, currentJobId: null },
    head: { id: 'j', vaultKeys: [] },
    autoWake: true,
    wakeRestsUntil: null,
    gate: { canLaunchRuns: true, reason: null },
    maxConcurrentRuns: null,
    runningInOrganization: 0,
    missingSecrets: [],
  };
  const agent = (change: Partial<StartFacts['agent']>) => ({ agent: { ...facts.agent, ...change } });

  it.each<[string, Partial<StartFacts>, object]>([
    ['a job that nothing prevents starts', {}, { action: 'start' }],
    ['nothing happens if no job is queued', { head: null }, { action: 'none' }],
    [
      'a job waits if another job occupies the agent',
      agent({ currentJobId: 'k' }),
      { action: 'wait', waiting: 'agent_busy' },
    ],
    ['a job waits while the agent drains', agent({ drain: 'finish' }), { action: 'wait', waiting: 'draining' }],
    [
      'a job fails if one of its secrets is missing',
      { missingSecrets: ['A'] },
      { action: 'fail', code: 'secret_missing' },
    ],
    [
      'a job fails if it has nothing to run',
      { head: { id: 'j', vaultKeys: [], nothingToRun: true } },
      { action: 'fail', code: 'nothing_to_run' },
    ],
    [
      'a job fails if the machine lacks a part that the job needs',
      { missingParts: ['python'] },
      { action: 'fail', code: 'machine_cannot' },
    ],
    [
      'a job wakes a stopped machine that lacked a part when it was online',
      { ...agent({ status: 'stopped' }), missingParts: ['python'] },
      { action: 'wake' },
    ],
    [
      'a job waits if the billing gate is closed',
      { gate: { canLaunchRuns: false, reason: 'r' } },
      { action: 'wait', waiting: 'billing_gate' },
    ],
    [
      'a job waits if the organization’s limit of concurrent runs is reached',
      { maxConcurrentRuns: 2, runningInOrganization: 2 },
      { action: 'wait', waiting: 'concurrency_limit' },
    ],
    [
      'a job does not wake a stopped machine if one of its concurrency keys is full',
      { ...agent({ status: 'stopped' }), fullKeys: [{ key: 'k', most: 1, held: 1 }] },
      { action: 'wait', waiting: 'concurrency_key' },
    ],
    ['a job wakes a stopped machine', agent({ status: 'stopped' }), { action: 'wake', waiting: 'agent_waking' }],
    ['a job wakes an offline machine', agent({ status: 'offline' }), { action: 'wake', waiting: 'agent_waking' }],
    [
      'a job waits if a wake of its machine failed a moment ago',
      { ...agent({ status: 'stopped' }), wakeRestsUntil: new Date() },
      { action: 'wait', waiting: 'agent_offline' },
    ],
    [
      'a job waits for a stopped machine if auto-wake is off',
      { ...agent({ status: 'stopped' }), autoWake: false },
      { action: 'wait', waiting: 'agent_offline', blocked: true },
    ],
    [
      'a job waits for an offline machine that the service cannot start',
      agent({ status: 'offline', provider: 'external' }),
      { action: 'wait', waiting: 'agent_offline' },
    ],
    [
      'a job waits while the machine starts',
      agent({ status: 'starting' }),
      { action: 'wait', waiting: 'agent_waking' },
    ],
    [
      'a job waits while the machine reboots',
      agent({ status: 'rebooting' }),
      { action: 'wait', waiting: 'agent_waking' },
    ],
    [
      'a job waits while the machine stops',
      agent({ status: 'stopping' }),
      { action: 'wait', waiting: 'agent_offline' },
    ],
    [
      'a job fails if its agent is terminated',
      agent({ status: 'terminated' }),
      { action: 'fail', code: 'agent_not_ready' },
    ],
  ])('%s', (_, change, expected) => {
    expect(decideJobStart({ ...facts, ...change })).toMatchObject({ ...expected, reason: expect.any(String) });
  });
});

describe('dispatch', () => {
  let fixture: JobsFixture;
  let agentId: string;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  beforeEach(async () => {
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = NULL, vm_auto_wake_on_job = true');
    agentId = await fixture.makeOnlineAgent();
  });
  afterAll(() => fixture.close());

  const read = (id: string) => findJob(fixture.harness.db, fixture.organizationId, id);
  const end = (jobId: string, status: 'completed' | 'failed' = 'completed') =>
    applyJobReport(fixture.harness.db, { organizationId: fixture.organizationId, agentId: null }, { jobId, status });
  const commands = (id: string) =>
    fixture.query(`SELECT job_id, status FROM agent_command WHERE agent_id = $1 AND kind = 'run' ORDER BY id`, [id]);

  const storeSecret = (key: string) =>
    fixture.query(
      `INSERT INTO vault_secret (organization_id, key, master_key_id, wrapped_key, sealed) VALUES ($1, $2, 'test', '', '')`,
      [fixture.organizationId, key],
    );
  const deleteSecret = (key: string) => fixture.query('DELETE FROM vault_secret WHERE key = $1', [key]);

  it('an occupied agent never gets a second job, however many launches and dispatches are concurrent', async () => {
    const launched = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const jobId = await fixture.launch({ agentId });
        await Promise.all([fixture.dispatch.startNextJob(agentId), fixture.dispatch.startNextJob(agentId)]);
        return jobId;
      }),
    );
    const startedJobs: string[] = [];
    while (startedJobs.length < launched.length) {
      const open = (await commands(agentId)).filter(({ status }) => status === 'pending');
      expect(open).toHaveLength(1);
      startedJobs.push(open[0].jobId);
      await end(open[0].jobId);
      await Promise.all(Array.from({ length: 5 }, () => fixture.dispatch.startNextJob(agentId)));
    }
    expect(new Set(startedJobs)).toEqual(new Set(launched));
    expect(await commands(agentId)).toHaveLength(20);
    expect(await findUnequalCounters(fixture.harness.db)).toEqual([]);
  });

  it('an agent’s jobs start by priority, then by arrival', async () => {
    const jobs: Record<string, string> = {};
    for (const [name, priority] of [
      ['first', 5],
      ['low', 0],
      ['second', 5],
      ['high', 10],
    ] as const) {
      jobs[name] = await fixture.launch({ agentId, priority });
    }
    const order: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      const { jobId } = await fixture.dispatch.startNextJob(agentId);
      order.push(Object.keys(jobs).find((name) => jobs[name] === jobId)!);
      await end(jobId!);
    }
    expect(order).toEqual(['high', 'first', 'second', 'low']);
  });

  it('a job that does not start records what it waits for, and since when', async () => {
    const running = await fixture.launch({ agentId });
    const waiting = await fixture.launch({ agentId });
    await fixture.dispatch.startNextJob(agentId);
    expect((await read(running)).waitingReason).toBeNull();
    const { waitingReason, waitingSince } = await read(waiting);
    expect(waitingReason).toBe('agent_busy');
    await fixture.dispatch.startNextJob(agentId);
    expect((await read(waiting)).waitingSince).toEqual(waitingSince);
  });

  it('an organization’s limit of concurrent runs applies across all of its agents', async () => {
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = 2 WHERE organization_id = $1', [
      fixture.organizationId,
    ]);
    await fixture.query(`UPDATE job SET status = 'cancelled' WHERE status IN ('queued', 'running')`);
    await fixture.query('UPDATE agent SET current_job_id = NULL');
    const agents = await Promise.all(Array.from({ length: 6 }, () => fixture.makeOnlineAgent()));
    const jobs = await Promise.all(agents.map((id) => fixture.launch({ agentId: id })));
    await Promise.all(agents.map((id) => fixture.dispatch.startNextJob(id)));
    const started = [];
    for (const id of jobs) if ((await read(id)).waitingReason === null) started.push(id);
    expect(started).toHaveLength(2);
    await end(started[0]!);
    await fixture.query(`UPDATE job SET waiting_since = now() - interval '2 minutes' WHERE status = 'queued'`);
    await sweepDispatch(fixture.harness.db, fixture.dispatch);
    const reasons = [];
    for (const id of jobs) reasons.push((await read(id)).waitingReason);
    expect(reasons.filter((reason) => reason === 'concurrency_limit')).toHaveLength(3);
  });

  it('concurrent dispatches wake a stopped machine once and record that the job waits for the wake', async () => {
    const asleep = (
      await makeAgent(fixture.harness.db, {
        organizationId: fixture.organizationId,
        name: 'Asleep',
        provider: 'local',
        status: 'stopped',
      })
    ).id;
    const jobId = await fixture.launch({ agentId: asleep });
    await Promise.all(Array.from({ length: 10 }, () => fixture.dispatch.startNextJob(asleep)));
    expect((await read(jobId)).waitingReason).toBe('agent_waking');
    expect(await fixture.query('SELECT state FROM agent_wake WHERE agent_id = $1', [asleep])).toEqual([
      { state: 'open' },
    ]);
  });

  it('a dispatch does not wake a stopped machine if auto-wake is off, and records a blocked wake', async () => {
    await fixture.query('UPDATE organization_settings SET vm_auto_wake_on_job = false');
    const asleep = (
      await makeAgent(fixture.harness.db, {
        organizationId: fixture.organizationId,
        name: 'Left asleep',
        provider: 'local',
        status: 'stopped',
      })
    ).id;
    const jobId = await fixture.launch({ agentId: asleep });
    await fixture.dispatch.startNextJob(asleep);
    expect(await read(jobId)).toMatchObject({ status: 'queued', waitingReason: 'agent_offline' });
    const events = await fixture.query(
      `SELECT data->>'eventType' AS type FROM timeline_entry WHERE agent_id = $1 AND kind = 'lifecycle'`,
      [asleep],
    );
    expect(events).toEqual([{ type: 'wake_blocked' }]);
  });

  it('a job whose secret is not in the vault fails, and the next job starts', async () => {
    await storeSecret('NOWHERE');
    const jobId = await fixture.launch({ agentId, vaultKeys: ['NOWHERE'], maxRetries: 2 });
    const next = await fixture.launch({ agentId });
    await deleteSecret('NOWHERE');
    expect((await fixture.dispatch.startNextJob(agentId)).action).toBe('fail');
    expect(await read(jobId)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('NOWHERE'),
      errorCode: 'secret_missing',
    });
    expect(await fixture.query('SELECT id FROM job WHERE retry_of = $1', [jobId])).toEqual([]);
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
  });

  it('a job that needs a capability that the machine lacks fails before its dispatch, and the next job starts', async () => {
    await fixture.query('UPDATE agent SET capabilities = $2 WHERE id = $1', [
      agentId,
      JSON.stringify([
        { name: 'python', available: true, detail: '3.11.2' },
        { name: 'chromium', available: false, detail: null },
      ]),
    ]);
    const { id: steps } = await makeWorkflow(fixture.harness.db, { organizationId: fixture.organizationId });
    await fixture.query(
      `UPDATE workflow_revision SET script = '', steps = '[{"type": "navigate", "url": "https://a.example.com"}]'
       WHERE workflow_id = $1`,
      [steps],
    );
    const jobId = await fixture.launch({ agentId, workflowId: steps, maxRetries: 2 });
    const next = await fixture.launch({ agentId });
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'fail', jobId });
    expect(await read(jobId)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('has no Chromium'),
      errorCode: 'machine_cannot',
    });
    expect(await fixture.query('SELECT id FROM job WHERE retry_of = $1', [jobId])).toEqual([]);
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
  });

  it('a job whose secret is deleted before its command is delivered fails, and the next job starts', async () => {
    await storeSecret('FLEETING');
    const jobId = await fixture.launch({ agentId, vaultKeys: ['FLEETING'], maxRetries: 2 });
    const next = await fixture.launch({ agentId });
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId });
    await deleteSecret('FLEETING');
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'fail', jobId });
    expect(await read(jobId)).toMatchObject({ status: 'failed', errorCode: 'secret_missing' });
    expect(await fixture.query('SELECT id FROM job WHERE retry_of = $1', [jobId])).toEqual([]);
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: next });
  });

  it('a dispatch delivers an undelivered run command again instead of creating a second one', async () => {
    const jobId = await fixture.launch({ agentId });
    await fixture.dispatch.startNextJob(agentId);
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'resume', jobId });
    await fixture.query(`UPDATE agent SET status = 'offline' WHERE id = $1`, [agentId]);
    await fixture.dispatch.startNextJob(agentId);
    expect((await read(jobId)).waitingReason).toBe('agent_offline');
    expect(await commands(agentId)).toHaveLength(1);
  });

  it('a failed job with attempts left gets a retry that starts after the retry delay', async () => {
    const jobId = await fixture.launch({ agentId, maxRetries: 1, retryDelayMs: 3_600_000 });
    await fixture.dispatch.startNextJob(agentId);
    await end(jobId, 'failed');
    const [{ id: retryId }] = await fixture.query('SELECT id FROM job WHERE retry_of = $1', [jobId]);
    expect(await read(retryId)).toMatchObject({ attempt: 2, status: 'queued', waitingReason: 'retry_delay' });
    const other = await fixture.launch({ agentId });
    expect(await fixture.dispatch.startNextJob(agentId)).toMatchObject({ action: 'start', jobId: other });
    await end(other);
    expect((await fixture.dispatch.startNextJob(agentId)).action).toBe('none');
    await fixture.query('UPDATE job SET not_before = now() - make_interval(secs => 1) WHERE id = $1', [retryId]);
    await sweepDispatch(fixture.harness.db, fixture.dispatch);
    await end(retryId, 'failed');
    expect(await fixture.query('SELECT id FROM job WHERE retry_of = $1', [retryId])).toEqual([]);
    expect(await read(jobId)).toMatchObject({ status: 'failed', attempt: 1 });
  });

  it('a dispatch reads the first job of a queue by an index, without sorting the others', async () => {
    const agentId = await fixture.makeOnlineAgent();
    await fixture.launch({ agentId });
    const queryAll = jest.spyOn(Transaction.prototype, 'queryStatements');
    await fixture.dispatch.startNextJob(agentId);
    const [first] = queryAll.mock.calls.flatMap(([statements]) =>
      statements.filter(({ name }) => name === 'first_in_queue'),
    );
    queryAll.mockRestore();
    const plan = await fixture.harness.db.transaction('system', async (tx) => {
      tx.avoidSorting();
      return tx.query<{ 'QUERY PLAN': string }>(`EXPLAIN (COSTS OFF) ${first!.text}`, [...first!.values!]);
    });
    const text = plan.map((line) => Object.values(line).join('')).join('\n');
    expect(text).toContain('job_queue_idx');
    expect(text).toContain('job_unplaced_idx');
    // Only the first jobs of the queues are sorted: that of the agent and those of the targets that fit it.
    expect(text.match(/-> +Sort/g) ?? []).toHaveLength(1);
  });
});
