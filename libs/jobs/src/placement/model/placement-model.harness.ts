import { AppError, type LaunchJobBody } from '@muster/contracts';
import type { AgentEntity, Transaction } from '@muster/database';
import { drainAgent, setAgentStatus, undrainAgent, updateAgent } from '@muster/machines';
import { Round } from '@muster/platform';
import fc from 'fast-check';
import { updateAccount } from '../../accounts/save-account';
import { terminateAgentAndRuns } from '../../actions/switch-agent';
import { deleteJob } from '../../deletion/delete-job';
import { enqueueWaitingAgents } from '../../dispatch/enqueue-waiting-agents';
import { sweepDispatch } from '../../dispatch/sweep-dispatch';
import { cancelWaitingJobs } from '../../ends/cancel-waiting-jobs';
import { setConcurrencyLimit } from '../../lists/concurrency-keys';
import type { PlacementFixture } from '../placement.harness';
import { type KeyLimits, readPlacementState, Rules, type State } from './placement-rules.harness';
import { sweepPlacements } from '../sweep-placements';

/** A step: what happens, and a number from which its details follow. */
type Step = [name: keyof typeof steps, detail: number];

interface World {
  fixture: PlacementFixture;
  state: State;
  keyLimits: KeyLimits;
}

type Work = (world: World, choose: <T>(items: readonly T[]) => T) => Promise<unknown>;

const labelSets = [['a'], ['b'], ['a', 'b']] as const;
const keySets = [
  undefined,
  undefined,
  [{ key: 'one' }],
  [{ key: 'two', limit: 2 }],
  [{ key: 'one' }, { key: 'two', limit: 2 }],
];

const changeAgentThenDispatch = (world: World, agentId: string, work: (tx: Transaction) => Promise<unknown>) =>
  world.fixture.runInTransaction(async (tx) => {
    await work(tx);
    // Enqueues the same message as the report of a machine, the end of a wake or a stop.
    await tx.enqueue({ queue: 'dispatch', name: 'dispatch-agent', payload: { agentId } });
  });
const setStatusOfAgent = (world: World, agentId: string, move: object) => {
  const { organizationId } = world.fixture.jobs;
  return changeAgentThenDispatch(world, agentId, (tx) =>
    setAgentStatus(tx, { organizationId, agentId, source: 'api', reason: 'model', ...move } as never),
  );
};
const endOpenWake = (world: World, agentId: string, state: 'ready' | 'failed') =>
  world.fixture.jobs.query(
    `UPDATE agent_wake SET state = $2, finished_at = muster_now(), attempt = 1 WHERE agent_id = $1 AND state = 'open'`,
    [agentId, state],
  );
const launchRandomJob = (world: World, choose: <T>(items: readonly T[]) => T, target: Partial<LaunchJobBody>) =>
  world.fixture.jobs.launch({
    ...target,
    priority: choose([1, 5, 5, 9]),
    concurrencyKeys: choose(keySets),
    accounts: choose([undefined, undefined, [{ pool: 'portal', as: 'PORTAL' }]]),
    maxRetries: choose([0, 1]),
  } as Partial<LaunchJobBody>);
const listWaitingJobs = ({ state }: World) => state.jobs.filter((job) => job.status === 'queued' && !job.isDispatched);
const listDispatchedJobs = ({ state }: World) =>
  state.jobs.filter((job) => job.isDispatched && ['queued', 'running'].includes(job.status));
const listAgentsInStatus = (
  world: World,
  statuses: string[],
  more: (agent: State['agents'][0]) => boolean = () => true,
) => world.state.agents.filter((agent) => statuses.includes(agent.status) && more(agent));

const steps = {
  launchUnplaced: (world, choose) => launchRandomJob(world, choose, { target: { labels: [...choose(labelSets)] } }),
  launchNamed: (world, choose) =>
    launchRandomJob(world, choose, { agentId: choose(listAgentsInStatus(world, ['online', 'stopped'])).id }),
  complete: (world, choose) => world.fixture.endJob(choose(listDispatchedJobs(world)).id),
  fail: (world, choose) =>
    world.fixture.endJob(choose(listDispatchedJobs(world)).id, { to: 'failed', errorCode: 'script_failed' }),
  cancelWaiting: (world, choose) => {
    const { organizationId } = world.fixture.jobs;
    const ids = [choose(listWaitingJobs(world)).id];
    return world.fixture.runInTransaction((tx) => cancelWaitingJobs(tx, { organizationId, ids, source: 'api' }));
  },
  deleteRun: (world, choose) => {
    const { id } = choose([...listDispatchedJobs(world), ...listWaitingJobs(world)]);
    const deletion = { now: new Date(), forget: () => Promise.resolve() };
    return world.fixture.runInTransaction((tx) => deleteJob(tx, world.fixture.jobs.caller, id, deletion));
  },
  confirmCleanup: async ({ fixture }) => {
    const commands = await fixture.jobs.query<{ id: string }>(
      `UPDATE agent_command SET status = 'success', output = '{"remaining":0}', finished_at = muster_now()
       WHERE kind = 'stop_job' AND status = 'pending' RETURNING id`,
    );
    for (const { id } of commands)
      await fixture.runInTransaction((tx) =>
        tx.enqueue({ queue: 'dispatch', name: 'command-finished', payload: { commandId: id } }),
      );
  },
  drain: (world, choose) =>
    world.fixture.runInTransaction((tx) =>
      drainAgent(tx, world.fixture.jobs.caller, choose(listAgentsInStatus(world, ['online'])).id, { mode: 'finish' }),
    ),
  undrain: (world, choose) =>
    world.fixture.runInTransaction((tx) =>
      undrainAgent(tx, world.fixture.jobs.caller, choose(listAgentsInStatus(world, ['draining'])).id),
    ),
  exempt: (world, choose) =>
    world.fixture.runInTransaction((tx) =>
      updateAgent(tx, world.fixture.jobs.caller, choose(world.state.agents).id, {
        placement: choose([true, false, true]),
      }),
    ),
  relabel: (world, choose) =>
    world.fixture.runInTransaction((tx) =>
      updateAgent(tx, world.fixture.jobs.caller, choose(world.state.agents).id, { labels: [...choose(labelSets)] }),
    ),
  terminate: (world, choose) =>
    world.fixture.runInTransaction((tx) =>
      terminateAgentAndRuns(tx, world.fixture.jobs.caller, choose(world.state.agents).id, { force: true }),
    ),
  addAgent: async (world, choose) => {
    const id = await addRandomAgent(world.fixture, choose);
    await changeAgentThenDispatch(world, id, () => Promise.resolve());
  },
  boot: async (world, choose) => {
    const { id } = choose(
      listAgentsInStatus(
        world,
        ['starting', 'stopped', 'offline'],
        ({ isBeingWoken, isFree }) => isBeingWoken || isFree,
      ),
    );
    await endOpenWake(world, id, 'ready');
    await setStatusOfAgent(world, id, { move: 'boot', to: 'online' });
  },
  failWake: async (world, choose) => {
    const { id } = choose(listAgentsInStatus(world, ['starting']));
    await endOpenWake(world, id, 'failed');
    await setStatusOfAgent(world, id, { move: 'wake_ended', to: 'stopped' });
  },
  goSilent: (world, choose) =>
    setStatusOfAgent(world, choose(listAgentsInStatus(world, ['online'])).id, { move: 'silent', to: 'offline' }),
  limitKey: async (world, choose) => {
    const { fixture, keyLimits } = world;
    const [key, limit] = [choose(['one', 'two']), choose([0, 1, 2, 3])];
    await fixture.runInTransaction((tx) => setConcurrencyLimit(tx, fixture.jobs.caller, { key, limit }));
    keyLimits.set(key, limit);
  },
  switchAccount: ({ fixture }, choose) =>
    fixture.runInTransaction((tx) =>
      updateAccount(tx, fixture.jobs.caller, choose(['first', 'second']), { enabled: choose([true, true, false]) }),
    ),
  changeSettings: async ({ fixture }, choose) => {
    await fixture.jobs.query('UPDATE organization_settings SET max_concurrent_runs = $1, vm_auto_wake_on_job = $2', [
      choose([null, null, 1, 2]),
      choose([true, true, false]),
    ]);
    await fixture.runInTransaction((tx) => enqueueWaitingAgents(tx, fixture.jobs.organizationId));
  },
} satisfies Record<string, Work>;

/** Launches and ends are more frequent than the other steps, so that most states have waiting jobs and runs. */
const frequent: (keyof typeof steps)[] = [
  'launchUnplaced',
  'launchUnplaced',
  'launchUnplaced',
  'launchNamed',
  'complete',
];
const names = [...(Object.keys(steps) as (keyof typeof steps)[]), ...frequent, ...frequent];

const addRandomAgent = (fixture: PlacementFixture, choose: <T>(items: readonly T[]) => T) =>
  fixture.makeAgent({
    labels: [...choose(labelSets)],
    status: choose(['online', 'online', 'stopped'] as const),
    provider: choose(['docker', 'docker', 'external'] as const),
    bootMs: choose([null, 10_000, 20_000]),
  } as Partial<AgentEntity>);

/** Thrown by a step that the state does not allow, such as the end of a run if there is none. */
class NothingToChoose extends Error {}

function createChooser(detail: number): <T>(items: readonly T[]) => T {
  let rest = detail;
  return (items) => {
    if (items.length === 0) throw new NothingToChoose();
    // A linear congruential generator, so that a step has the same details whenever it is repeated.
    rest = (rest * 1_103_515_245 + 12_345) % 2_147_483_648;
    return items[(rest >>> 8) % items.length]!;
  };
}

/**
 * Runs random steps against a real database. After each of them the dispatcher handles its messages; then the rules of
 * placement hold for the jobs without an agent. The sweeps follow, and the rules hold for all jobs. Set MUSTER_SEED to
 * repeat the steps of a seed, and MUSTER_SHRINK to look for the shortest steps that break a rule.
 */
export async function checkPlacementModel(
  fixture: PlacementFixture,
  { runs, length, seed }: { runs: number; length: number; seed?: number },
): Promise<Record<string, number>> {
  const seeds = process.env['MUSTER_SEED'] ?? seed;
  const done: Record<string, number> = { started: 0, woken: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(), { minLength: 3, maxLength: 5 }),
      fc.array(fc.tuple(fc.constantFrom(...names), fc.nat()), { minLength: length, maxLength: length }),
      async (agents, walk: Step[]) => {
        await fixture.deleteJobsAndAgents();
        for (const name of ['first', 'second']) await fixture.putAccount(name);
        for (const agent of agents) await addRandomAgent(fixture, createChooser(agent));
        await fixture.jobs.query('UPDATE organization_settings SET vm_auto_wake_on_job = true');
        const keyLimits: KeyLimits = new Map();
        let state = await readPlacementState(fixture);
        for (const [at, [name, detail]] of walk.entries()) {
          const world = { fixture, state, keyLimits };
          try {
            await (steps[name] as Work)(world, createChooser(detail));
          } catch (error) {
            if (error instanceof NothingToChoose) continue;
            if (!(error instanceof AppError)) throw error;
          }
          done[name] = (done[name] ?? 0) + 1;
          const before = state;
          await fixture.handleMessages();
          const prompt = new Rules(await readPlacementState(fixture), keyLimits);
          const found = [...prompt.listRuleViolations(before), ...prompt.listOvertakenJobs(before)];
          found.push(...prompt.listNeedlesslyWaitingJobs('unplaced').map((id) => `job ${id} waits for a sweep`));
          await sweepPlacements(fixture.parts, new Round('model'));
          await sweepDispatch(fixture.jobs.harness.db, fixture.jobs.dispatch, new Round('model'));
          await fixture.handleMessages();
          state = await readPlacementState(fixture);
          const rules = new Rules(state, keyLimits);
          found.push(...rules.listRuleViolations(before), ...rules.listWrongWakes(before));
          found.push(...rules.listNeedlesslyWaitingJobs('all').map((id) => `job ${id} waits`));
          if (found.length > 0)
            throw new Error(`after step ${at}, ${name}: ${found.join('; ')}\n${describeState(state)}`);
          done['woken']! += state.agents.filter(
            (agent) => agent.isBeingWoken && !before.agents.find(({ id }) => id === agent.id)?.isBeingWoken,
          ).length;
        }
        done['started']! += state.jobs.filter((job) => job.isDispatched).length;
      },
    ),
    {
      numRuns: runs,
      endOnFailure: !process.env['MUSTER_SHRINK'],
      ...(seeds === undefined ? {} : { seed: Number(seeds) }),
    },
  );
  return done;
}

function describeState({ agents, jobs, ...others }: State): string {
  const open = jobs.filter(({ status }) => ['queued', 'running'].includes(status));
  return [...agents, ...open, others].map((row) => JSON.stringify(row)).join('\n');
}
