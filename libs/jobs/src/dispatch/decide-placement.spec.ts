import { decidePlacement, type PlacementFacts } from './decide-placement';
import { type ComingAgent, decideMachineWakes, type UnplacedJob, type WakeableAgent } from './decide-wakes';

const none = { fits: 1, busy: 0, waking: 0, draining: 0, off: 0 };
const decideTestPlacement = (facts: Partial<PlacementFacts>) =>
  decidePlacement({ prefer: 'running', idle: [], ahead: 0, counts: none, autoWake: true, heldUp: null, ...facts });

describe('decidePlacement', () => {
  const idle = [
    { agentId: 'a', lastActivityMs: 20 },
    { agentId: 'b', lastActivityMs: 30 },
    { agentId: 'c', lastActivityMs: null },
  ];

  it.each([
    ['running', 'b'],
    ['spread', 'c'],
  ] as const)(
    'a run with the preference %s is placed on the agent %s if several agents are idle',
    (prefer, agentId) => {
      expect(decideTestPlacement({ prefer, idle })).toMatchObject({ action: 'start', agentId });
    },
  );

  it.each([0, 1, 2, 3, 4, 5])(
    'the next agent in the order of preference is chosen for a run if %i runs ahead of it are placed at the same time',
    (ahead) => {
      const order = ['b', 'a', 'c'];
      const decision = decideTestPlacement({ idle, ahead });
      expect(decision).toMatchObject({ action: 'start', agentId: order[ahead % 3] });
      expect(JSON.stringify(decision).includes('after the agents for the jobs ahead in the queue')).toBe(ahead % 3 > 0);
    },
  );

  it.each([
    ['a key is full', { idle, heldUp: 'concurrency_key' }, 'concurrency_key', false],
    ['an account is missing', { idle, heldUp: 'account_busy' }, 'account_busy', false],
    ['a fitting agent is busy', { counts: { ...none, busy: 1 } }, 'no_agent_free', true],
    ['a fitting agent boots', { counts: { ...none, waking: 1 } }, 'agent_waking', true],
    ['all are off and auto-wake is off', { autoWake: false }, 'no_agent_online', false],
    ['all are off and auto-wake is on', {}, 'no_agent_free', true],
  ] as const)('if %s, a run waits with a waiting reason that says so', (_case, facts, waiting, mayWake) => {
    expect(decideTestPlacement(facts as never)).toMatchObject({ action: 'wait', waiting, mayWake });
  });
});

describe('decideWakes', () => {
  const job = (jobId: string, ...labels: string[]): UnplacedJob => ({ jobId, labels, priority: 5, queuedAtMs: 1 });
  const coming = (agentId: string, labels: string[], own: ComingAgent['own'] = null): ComingAgent => ({
    agentId,
    labels,
    own,
  });
  const off = (agentId: string, bootMs: number | null, ...labels: string[]): WakeableAgent => ({
    agentId,
    bootMs,
    labels,
  });

  it('a run that a booting agent will take wakes no agent, even if an earlier run must move to another agent', () => {
    const jobs = [job('1', 'x'), job('2', 'x', 'y')];
    const agents = [coming('both', ['x', 'y']), coming('one', ['x'])];
    expect(decideMachineWakes({ jobs, coming: agents, wakeable: [off('w', 1, 'x', 'y')], room: null })).toEqual([]);
  });

  it('an agent that boots for an earlier run that names the agent is not expected to take another run', () => {
    const own = { priority: 5, queuedAtMs: 0 };
    const facts = { jobs: [job('1', 'x')], wakeable: [off('w', 1, 'x')], room: null };
    expect(decideMachineWakes({ ...facts, coming: [coming('a', ['x'], own)] })).toEqual([{ jobId: '1', agentId: 'w' }]);
    expect(decideMachineWakes({ ...facts, coming: [coming('a', ['x'], { ...own, priority: 4 })] })).toEqual([]);
  });

  it('the stopped agent with the shortest measured boot is woken first, within the limit of concurrent runs', () => {
    const wakeable = [off('unknown', null, 'x'), off('slow', 9, 'x'), off('fast', 1, 'x'), off('other', 0, 'y')];
    const jobs = [job('1', 'x'), job('2', 'x'), job('3', 'x'), job('4', 'x')];
    const agents = (room: number | null) =>
      decideMachineWakes({ jobs, coming: [], wakeable, room }).map(({ agentId }) => agentId);
    expect(agents(null)).toEqual(['fast', 'slow', 'unknown']);
    expect(agents(2)).toEqual(['fast', 'slow']);
    expect(agents(0)).toEqual([]);
  });
});
