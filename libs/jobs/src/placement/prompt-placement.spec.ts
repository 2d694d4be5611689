import { drainAgent, undrainAgent, updateAgent } from '@muster/machines';
import { updateAccount } from '../accounts/save-account';
import { setAsideAccountOfRun } from '../accounts/fail-account';
import { launchBatch } from '../batches/launch-batch';
import { enqueueWaitingAgents } from '../dispatch/enqueue-waiting-agents';
import { cancelWaitingJobs } from '../ends/cancel-waiting-jobs';
import { deleteConcurrencyLimit, setConcurrencyLimit } from '../lists/concurrency-keys';
import { PlacementFixture } from './placement.harness';

/** No loop runs here: a job that starts was enqueued by the change that let it start. */
describe('a change that lets a job without an agent start enqueues it', () => {
  let fixture: PlacementFixture;

  beforeAll(async () => {
    fixture = await PlacementFixture.openFixture();
  });
  afterAll(() => fixture.closeFixture());
  beforeEach(() => fixture.deleteJobsAndAgents());

  const getCaller = () => fixture.jobs.caller;
  const listWhetherStarted = async (...jobIds: string[]) => {
    await fixture.handleMessages();
    return (await fixture.listAgentsOfJobs(jobIds)).map((agentId) => agentId !== null);
  };
  const concurrencyKeys = [{ key: 'portal' }];

  it('the end of a run that held a concurrency key starts a run that waits for the key', async () => {
    const holder = await fixture.makeAgent();
    await fixture.makeAgent({ labels: ['south'] });
    const first = await fixture.launchWithLabels(['any'], { concurrencyKeys });
    const [north, south] = [
      await fixture.launchWithLabels(['any'], { concurrencyKeys, priority: 3 }),
      await fixture.launchWithLabels(['south'], { concurrencyKeys }),
    ];
    expect(await listWhetherStarted(first, north, south)).toEqual([true, false, false]);
    await fixture.runInTransaction((tx) => updateAgent(tx, getCaller(), holder, { placement: false }));
    await fixture.endJob(first);
    // The only agent that fits the first run takes no more runs by labels. So this run must not keep the key from the
    // second one.
    expect(await listWhetherStarted(north, south)).toEqual([false, true]);
  });

  it('the cancellation of a waiting run starts the run that waits behind it', async () => {
    await fixture.makeAgent({ status: 'stopped' });
    const first = await fixture.launchWithLabels(['any'], { concurrencyKeys });
    const next = await fixture.launchWithLabels(['any'], { concurrencyKeys });
    expect(await listWhetherStarted(first, next)).toEqual([false, false]);
    await fixture.makeAgent();
    const { organizationId } = fixture.jobs;
    await fixture.runInTransaction((tx) => cancelWaitingJobs(tx, { organizationId, ids: [first], source: 'api' }));
    expect(await listWhetherStarted(next)).toEqual([true]);
  });

  it('the end of a run that had an account starts a run that waits for the account', async () => {
    await fixture.putAccount('one');
    const accounts = [{ pool: 'portal', as: 'PORTAL' }];
    for (const labels of [['any'], ['south']]) await fixture.makeAgent({ labels });
    const first = await fixture.launchWithLabels(['any'], { accounts });
    expect(await listWhetherStarted(first)).toEqual([true]);
    const second = await fixture.launchWithLabels(['south'], { accounts });
    expect(await listWhetherStarted(second)).toEqual([false]);
    await fixture.endJob(first);
    expect(await listWhetherStarted(second)).toEqual([true]);
  });

  it('a run that waits for an account starts when an account is created, enabled or put back', async () => {
    const accounts = [{ pool: 'portal', as: 'PORTAL' }];
    for (let at = 0; at < 3; at += 1) await fixture.makeAgent();
    const jobIds = [];
    for (let at = 0; at < 3; at += 1) jobIds.push(await fixture.launchWithLabels(['any'], { accounts }));
    expect(await listWhetherStarted(...jobIds)).toEqual([false, false, false]);
    await fixture.putAccount('one');
    expect(await listWhetherStarted(...jobIds)).toEqual([true, false, false]);
    await fixture.putAccount('two', { enabled: false });
    expect(await listWhetherStarted(...jobIds)).toEqual([true, false, false]);
    await fixture.runInTransaction((tx) => updateAccount(tx, getCaller(), 'two', { enabled: true }));
    expect(await listWhetherStarted(...jobIds)).toEqual([true, true, false]);
    const { organizationId, harness } = fixture.jobs;
    const [jobId, pool] = [jobIds[0]!, 'portal'];
    await setAsideAccountOfRun(harness.db, { organizationId, agentId: null }, { jobId, pool, reason: 'locked' });
    await fixture.endJob(jobId);
    expect(await listWhetherStarted(jobIds[2]!)).toEqual([false]);
    await fixture.runInTransaction((tx) => updateAccount(tx, getCaller(), 'one', { enabled: true }));
    expect(await listWhetherStarted(jobIds[2]!)).toEqual([true]);
  });

  it('runs that wait for a concurrency key start when its limit is raised or removed or its pause ends', async () => {
    const key = 'portal';
    const setLimit = (limit: number) =>
      fixture.runInTransaction((tx) => setConcurrencyLimit(tx, getCaller(), { key, limit }));
    const wide = [{ key, limit: 10 }];
    await setLimit(0);
    const jobIds: string[] = [];
    for (let at = 0; at < 6; at += 1) {
      await fixture.makeAgent();
      jobIds.push(await fixture.launchWithLabels(['any'], { concurrencyKeys: wide }));
    }
    const countStarted = async () => (await listWhetherStarted(...jobIds)).filter(Boolean).length;
    expect(await countStarted()).toBe(0);
    await setLimit(1);
    expect(await countStarted()).toBe(1);
    await setLimit(3);
    expect(await countStarted()).toBe(3);
    await fixture.runInTransaction((tx) => deleteConcurrencyLimit(tx, getCaller(), key));
    expect(await countStarted()).toBe(6);
  });

  it('a waiting run starts when an agent accepts placed runs again, gets the run’s label, or is undrained', async () => {
    const agents = [
      await fixture.makeAgent({ placement: false }),
      await fixture.makeAgent({ labels: ['south'] }),
      await fixture.makeAgent(),
    ];
    await fixture.runInTransaction((tx) => drainAgent(tx, getCaller(), agents[2]!, { mode: 'finish' }));
    const jobIds = [];
    for (let at = 0; at < 3; at += 1) jobIds.push(await fixture.launchWithLabels());
    expect(await listWhetherStarted(...jobIds)).toEqual([false, false, false]);
    await fixture.runInTransaction((tx) => updateAgent(tx, getCaller(), agents[0]!, { placement: true }));
    expect(await listWhetherStarted(...jobIds)).toEqual([true, false, false]);
    await fixture.runInTransaction((tx) => updateAgent(tx, getCaller(), agents[1]!, { labels: ['south', 'any'] }));
    expect(await listWhetherStarted(...jobIds)).toEqual([true, true, false]);
    await fixture.runInTransaction((tx) => undrainAgent(tx, getCaller(), agents[2]!));
    expect(await listWhetherStarted(...jobIds)).toEqual([true, true, true]);
  });

  it('a run that waits for the limit of concurrent runs starts when any run of the organization ends, on any agent', async () => {
    await fixture.jobs.query('UPDATE organization_settings SET max_concurrent_runs = 1');
    for (const labels of [['any'], ['south'], ['west']]) await fixture.makeAgent({ labels });
    const jobIds: string[] = [];
    for (const labels of [['any'], ['south'], ['west']]) {
      jobIds.push(await fixture.launchWithLabels(labels));
      expect(await listWhetherStarted(jobIds[0]!)).toEqual([true]);
    }
    expect(await listWhetherStarted(...jobIds)).toEqual([true, false, false]);
    await fixture.endJob(jobIds[0]!);
    expect(await listWhetherStarted(...jobIds)).toEqual([true, true, false]);
    await fixture.jobs.query('UPDATE organization_settings SET max_concurrent_runs = 2');
    await fixture.runInTransaction((tx) => enqueueWaitingAgents(tx, fixture.jobs.organizationId));
    expect(await listWhetherStarted(...jobIds)).toEqual([true, true, true]);
  });

  it('a run that waits behind another one starts when that one fails to start', async () => {
    await fixture.makeAgent({ status: 'stopped' });
    const broken = await fixture.launchWithLabels(['any'], { vaultKeys: ['PASSWORD'] });
    const next = await fixture.launchWithLabels();
    expect(await listWhetherStarted(broken, next)).toEqual([false, false]);
    await fixture.jobs.query(`UPDATE job SET vault_keys = '{GONE}' WHERE id = $1`, [broken]);
    await fixture.jobs.query(`UPDATE agent SET status = 'online'`);
    const [{ id }] = (await fixture.jobs.query('SELECT id FROM agent')) as [{ id: string }];
    await fixture.jobs.dispatch.startNextJob(id);
    expect(await listWhetherStarted(next)).toEqual([true]);
    expect(await fixture.jobs.query('SELECT error_code FROM job WHERE id = $1', [broken])).toEqual([
      { errorCode: 'secret_missing' },
    ]);
  });

  it('a batch fills every idle agent that fits it with one message, however many runs it has', async () => {
    const [agents, runs] = [40, 150];
    for (let at = 0; at < agents; at += 1) await fixture.makeAgent();
    await fixture.makeAgent({ labels: ['south'] });
    const input = { workflowId: fixture.jobs.workflowId, target: { labels: ['any'] } };
    const rows = Array.from({ length: runs }, (_, row) => ({ row, cells: new Map(), errors: [] }));
    await fixture.runInTransaction((tx) => launchBatch(tx, getCaller(), { input, rows, now: new Date() }));
    const messages = await fixture.jobs.query("SELECT name FROM outbox WHERE queue = 'dispatch'");
    expect(messages).toEqual([{ name: 'place-jobs' }]);
    const names = await fixture.handleMessages();
    expect(names.filter((name) => name.startsWith('place-job'))).toEqual(['place-jobs']);
    const counts = await fixture.jobs.query(
      'SELECT count(DISTINCT agent_id)::int AS agents, count(*)::int AS runs FROM job WHERE command_id IS NOT NULL',
    );
    expect(counts).toEqual([{ agents, runs: agents }]);
  });
});
