import { makeAgent, makeOrganization } from '@muster/testing';
import { finishJob } from '../ends/finish-job';
import { findJob } from '../lists/job-row';
import { type JobsFixture, openJobsFixture } from '../testing/jobs.harness';
import { placeJob } from './place-job';

describe('placement of runs that name no agent', () => {
  let fixture: JobsFixture;

  beforeAll(async () => {
    fixture = await openJobsFixture();
  });
  afterAll(() => fixture.close());
  beforeEach(async () => {
    await fixture.query('DELETE FROM job');
    await fixture.query('DELETE FROM outbox');
    await fixture.query("UPDATE agent SET labels = '{}', current_job_id = NULL, status = 'stopped'");
    await fixture.query('UPDATE organization_settings SET vm_auto_wake_on_job = false, max_concurrent_runs = NULL');
  });

  let made = 0;
  const makeFittingAgent = async (input: object = {}) => {
    made += 1;
    const { db } = fixture.harness;
    const { organizationId } = fixture;
    const agent = {
      organizationId,
      name: `Fitting ${made}`,
      status: 'online',
      labels: ['front-desk', 'north'],
      ...input,
    };
    return (await makeAgent(db, agent as never)).id;
  };
  const target = { labels: ['front-desk'] };
  const getPlacementParts = () => ({
    database: fixture.harness.db,
    dispatch: fixture.dispatch,
    now: () => new Date(),
    wakeTimeoutMs: 60_000,
  });
  const placeRun = (jobId: string) => placeJob(getPlacementParts(), jobId);
  const placeRunAndReadAgent = async (jobId: string) => {
    await placeRun(jobId);
    return (await findJob(fixture.harness.db, fixture.organizationId, jobId)).agentId;
  };
  const endRun = (jobId: string, input: object = { to: 'completed' }) =>
    fixture.harness.db.transaction('system', (tx) =>
      finishJob(tx, { organizationId: fixture.organizationId, jobId, source: 'watchdog', ...input } as never),
    );

  it('a run starts on an online and idle agent that has all labels of its target, and its timeline says why', async () => {
    await makeFittingAgent({ labels: ['north'] });
    const agentId = await makeFittingAgent();
    const jobId = await fixture.launch({ target: { labels: ['north', 'front-desk'] } });
    expect(await findJob(fixture.harness.db, fixture.organizationId, jobId)).toMatchObject({
      agentId: null,
      targetLabels: ['north', 'front-desk'],
      targetPrefer: 'running',
    });
    expect(await placeRunAndReadAgent(jobId)).toBe(agentId);
    const why = 'it is the only agent with the required labels that is online and idle';
    expect(await findJob(fixture.harness.db, fixture.organizationId, jobId)).toMatchObject({ placementWhy: why });
    const entries = await fixture.query(
      'SELECT source, data FROM timeline_entry WHERE job_id = $1 AND agent_id = $2 ORDER BY seq',
      [jobId, agentId],
    );
    expect(entries.at(-1)).toMatchObject({ source: 'dispatcher', data: { considered: 1, chosen: agentId, why } });
  });

  it('the preference “running” selects the idle agent that was busy last, and “spread” the one idle the longest', async () => {
    const minutesAgo = (minutes: number) => ({ lastActivityAt: new Date(Date.now() - minutes * 60_000) });
    const [longest] = [await makeFittingAgent(minutesAgo(30)), await makeFittingAgent(minutesAgo(20))];
    const last = await makeFittingAgent(minutesAgo(10));
    expect(await placeRunAndReadAgent(await fixture.launch({ target }))).toBe(last);
    expect(await placeRunAndReadAgent(await fixture.launch({ target: { ...target, prefer: 'spread' } }))).toBe(longest);
  });

  it('a launch requires exactly one of agentId and target', async () => {
    await makeFittingAgent();
    await expect(fixture.launch({ target, agentId: fixture.agentId })).rejects.toMatchObject({
      code: 'invalid_payload',
    });
    await expect(fixture.launch({ agentId: undefined })).rejects.toMatchObject({ code: 'invalid_payload' });
  });

  it('a launch with a target that no agent fits is refused with the labels that no agent has', async () => {
    await makeFittingAgent({ labels: ['front-desk'] });
    await makeFittingAgent({ labels: ['south'], status: 'stopped' });
    const launchWithLabels = (...labels: string[]) => fixture.launch({ target: { labels } });
    await expect(launchWithLabels('front-desk', 'x-ray')).rejects.toMatchObject({
      code: 'no_agent_fits',
      options: { extra: { labels: ['x-ray'] } },
    });
    await expect(launchWithLabels('front-desk', 'south')).rejects.toMatchObject({
      code: 'no_agent_fits',
      options: { extra: { labels: [] } },
    });
    await launchWithLabels('south');
  });

  it('draining agents, exempt agents and agents of other organizations take no run that names no agent', async () => {
    const { id: organizationId } = await makeOrganization(fixture.harness.db);
    await makeFittingAgent({ organizationId });
    const exempt = await makeFittingAgent({ placement: false });
    await makeFittingAgent({ drain: 'finish', status: 'draining' });
    const jobId = await fixture.launch({ target });
    expect(await placeRunAndReadAgent(jobId)).toBeNull();
    await fixture.dispatch.startNextJob(exempt);
    expect(await findJob(fixture.harness.db, fixture.organizationId, jobId)).toMatchObject({
      agentId: null,
      waitingReason: 'no_agent_online',
      waitingFor: { fits: 2, busy: 0, waking: 0, draining: 1, off: 0 },
    });
  });

  it('an agent that comes free starts the first run by priority and age, whether the run names the agent or not', async () => {
    const agentId = await makeFittingAgent();
    const first = await fixture.dispatched({ agentId });
    const unplaced = await fixture.launch({ target });
    const named = await fixture.launch({ agentId });
    const urgent = await fixture.launch({ target, priority: 9 });
    expect(await placeRunAndReadAgent(unplaced)).toBeNull();
    const started = [first];
    for (let run = 0; run < 3; run += 1) {
      await endRun(started.at(-1)!);
      const { jobId } = await fixture.dispatch.startNextJob(agentId);
      started.push(jobId!);
    }
    expect(started).toEqual([first, urgent, unplaced, named]);
  });

  it('the end of a run enqueues its agent for dispatch if a run that names no agent waits', async () => {
    const agentId = await makeFittingAgent();
    const first = await fixture.dispatched({ agentId });
    await fixture.launch({ target });
    await fixture.query('DELETE FROM outbox');
    await endRun(first);
    expect(await fixture.query("SELECT payload FROM outbox WHERE name = 'dispatch-agent'")).toEqual([
      { payload: { agentId } },
    ]);
  });

  it('the retry of a run with a target is placed again, or stays on its agent if the launch requested that', async () => {
    const agentId = await makeFittingAgent();
    const failed = { to: 'failed', errorCode: 'script_failed' };
    for (const retrySameAgent of [false, true]) {
      const jobId = await fixture.launch({ target, maxRetries: 1, retrySameAgent });
      expect(await placeRunAndReadAgent(jobId)).toBe(agentId);
      expect(await endRun(jobId, failed)).toMatchObject({ retried: true });
      const [retry] = await fixture.query('SELECT id, agent_id, target_labels FROM job WHERE retry_of = $1', [jobId]);
      expect(retry).toMatchObject({ agentId: retrySameAgent ? agentId : null, targetLabels: target.labels });
      await fixture.query('DELETE FROM job WHERE id = $1', [retry.id]);
    }
  });

  it('a run that names no agent and is cancelled before its start costs nothing and is on the organization’s stream', async () => {
    await makeFittingAgent({ status: 'stopped' });
    const jobId = await fixture.launch({ target });
    await endRun(jobId, { to: 'cancelled' });
    const events = await fixture.query("SELECT data FROM organization_event WHERE type = 'job' ORDER BY id");
    expect(events.slice(-2).map(({ data }) => [data.jobId, data.status])).toEqual([
      [jobId, 'queued'],
      [jobId, 'cancelled'],
    ]);
  });

  it('the waiting reason of a run that waits for a concurrency key is not copied to runs with the same labels', async () => {
    const agentId = await makeFittingAgent();
    const concurrencyKeys = [{ key: 'portal' }];
    const holder = await fixture.launch({ target, concurrencyKeys });
    expect(await placeRunAndReadAgent(holder)).toBe(agentId);
    const [keyed, free] = [await fixture.launch({ target, concurrencyKeys }), await fixture.launch({ target })];
    // The key was acquired by another run after the sweep had found this run.
    await placeJob(getPlacementParts(), keyed, { wholeGroup: true });
    const readReason = async (id: string) =>
      (await findJob(fixture.harness.db, fixture.organizationId, id)).waitingReason;
    expect([await readReason(keyed), await readReason(free)]).toEqual(['concurrency_key', null]);
    await placeJob(getPlacementParts(), free, { wholeGroup: true });
    expect([await readReason(keyed), await readReason(free)]).toEqual(['concurrency_key', 'no_agent_free']);
    await endRun(holder);
  });

  it('one agent, the fastest to boot, is woken for each run that no booting agent will take', async () => {
    await fixture.query('UPDATE organization_settings SET vm_auto_wake_on_job = true');
    const slow = await makeFittingAgent({ status: 'stopped', provider: 'docker', bootMs: 90_000 });
    const fast = await makeFittingAgent({ status: 'stopped', provider: 'docker', bootMs: 20_000 });
    const unmeasured = await makeFittingAgent({ status: 'stopped', provider: 'docker' });
    const listWokenAgents = async () =>
      (await fixture.query('SELECT agent_id FROM agent_wake ORDER BY requested_at, id')).map(({ agentId }) => agentId);
    const first = await fixture.launch({ target });
    await Promise.all([placeRun(first), placeRun(first), placeRun(first)]);
    expect(await listWokenAgents()).toEqual([fast]);
    await placeRun(await fixture.launch({ target }));
    expect(await listWokenAgents()).toEqual([fast, slow]);
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = 2');
    const third = await fixture.launch({ target });
    await placeRun(third);
    expect(await listWokenAgents()).toEqual([fast, slow]);
    await fixture.query('UPDATE organization_settings SET max_concurrent_runs = NULL');
    await placeRun(third);
    expect(await listWokenAgents()).toEqual([fast, slow, unmeasured]);
  });

  it('concurrent placements start as many runs as there are agents, each run once and on its own agent', async () => {
    const agentIds = await Promise.all(Array.from({ length: 10 }, () => makeFittingAgent()));
    const jobIds = await Promise.all(Array.from({ length: 40 }, () => fixture.launch({ target })));
    await Promise.all([
      ...jobIds.map(placeRun),
      ...[...agentIds, ...agentIds].map((agentId) => fixture.dispatch.startNextJob(agentId)),
    ]);
    const started = await fixture.query(
      'SELECT id, agent_id, (SELECT count(*)::int FROM agent_command c WHERE c.job_id = job.id) AS commands FROM job WHERE command_id IS NOT NULL',
    );
    expect(started.map(({ agentId }) => agentId).sort()).toEqual([...agentIds].sort());
    expect(started.every(({ commands }) => commands === 1)).toBe(true);
  });
});
