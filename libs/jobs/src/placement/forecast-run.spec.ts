import { forecastRunOnNamedAgent, forecastRunByLabels, type NamedFacts, type TargetFacts } from './forecast-run';

const run = {
  autoWake: true,
  gate: { canLaunchRuns: true, reason: null },
  maxConcurrentRuns: null,
  runningInOrganization: 0,
  fullKeys: [],
  busyPool: null,
  nothingToRun: false,
};
const refused: [string, Partial<TargetFacts & NamedFacts>, string][] = [
  ['a workflow that has nothing to run', { nothingToRun: true }, 'nothing_to_run: '],
  [
    'a closed billing gate',
    { gate: { canLaunchRuns: false, reason: 'the monthly run limit is used up' } },
    'billing_gate_closed: the monthly run limit is used up',
  ],
];
const waiting: [string, Partial<TargetFacts & NamedFacts>, string][] = [
  [
    'a full concurrency key',
    { fullKeys: [{ key: 'delta', most: 2, held: 2 }] },
    '2 of at most 2 runs hold the concurrency key delta',
  ],
  [
    'a paused concurrency key',
    { fullKeys: [{ key: 'delta', most: 0, held: 0 }] },
    'the concurrency key delta is paused',
  ],
  ['a pool without a free account', { busyPool: 'portal' }, 'no account of the pool portal is free'],
  [
    'the limit of concurrent runs',
    { maxConcurrentRuns: 3, runningInOrganization: 3 },
    '3 of at most 3 runs are in progress',
  ],
];

describe('forecastNamedRun', () => {
  const agentId = 'agent-1';
  const forecastOnNamedAgent = ({ agent, ...facts }: Partial<Omit<NamedFacts, 'agent'>> & { agent?: object } = {}) =>
    forecastRunOnNamedAgent({
      ...run,
      agentId,
      statusReason: null,
      wakeRestsUntil: null,
      agent: { status: 'online', provider: 'docker', drain: null, currentJobId: null, ...agent },
      ...facts,
    });

  it('a run that names an idle agent is expected to start on it', () => {
    expect(forecastOnNamedAgent()).toEqual({ would: 'start', agentId, reason: 'the agent is online and free' });
  });

  it('a run that names a stopped agent is expected to wake it', () => {
    const reason = 'the agent is stopped; it is started';
    expect(forecastOnNamedAgent({ agent: { status: 'stopped' } })).toEqual({ would: 'wake', agentId, reason });
  });

  it.each<[string, Parameters<typeof forecastOnNamedAgent>[0], string]>([
    ['is occupied', { agent: { currentJobId: 'job-1' } }, 'job job-1 occupies the agent'],
    ['is being drained', { agent: { drain: 'finish', status: 'draining' } }, 'the agent is being drained'],
    ['boots', { agent: { status: 'starting' } }, 'the agent is starting'],
    [
      'is off and auto-wake is off',
      { agent: { status: 'stopped' }, autoWake: false },
      'the setting vmAutoWakeOnJob is off',
    ],
    [
      'is unhealthy and external',
      { agent: { status: 'offline', provider: 'external' }, statusReason: 'unhealthy 3 times in a row' },
      'the agent is offline and cannot be started by the service (unhealthy 3 times in a row)',
    ],
    [
      'could not be woken before',
      { agent: { status: 'stopped' }, wakeRestsUntil: new Date('2026-03-04T05:06:07Z') },
      '2026-03-04T05:06:07.000Z',
    ],
  ])('a run that names an agent is expected to wait if the agent %s', (_, facts, reason) => {
    expect(forecastOnNamedAgent(facts)).toEqual({ would: 'wait', agentId, reason: expect.stringContaining(reason) });
  });

  it('a run that names an unhealthy agent is expected to restart it, with the reason why the agent is offline', () => {
    const facts = { agent: { status: 'offline' }, statusReason: 'unhealthy 3 times in a row.' };
    const reason = 'the agent is offline (unhealthy 3 times in a row); it is started';
    expect(forecastOnNamedAgent(facts)).toEqual({ would: 'wake', agentId, reason });
  });

  it('a run is expected to be refused if its agent’s machine lacks a part that the run needs', () => {
    expect(forecastOnNamedAgent({ missingParts: ['python'] })).toMatchObject({
      would: 'refuse',
      reason: expect.stringContaining('machine_cannot: the machine has no'),
    });
  });

  it.each(refused)('a run that names an agent is expected to be refused for %s', (_, facts, reason) => {
    expect(forecastOnNamedAgent(facts)).toEqual({ would: 'refuse', reason: expect.stringContaining(reason) });
  });

  it.each(waiting)(
    'a run that names an agent is expected to wait for %s without waking the agent',
    (_, facts, reason) => {
      expect(forecastOnNamedAgent(facts)).toMatchObject({ would: 'wait', reason });
      expect(forecastOnNamedAgent({ agent: { status: 'stopped' }, ...facts })).toMatchObject({ would: 'wait', reason });
    },
  );
});

describe('forecastPlacedRun', () => {
  const none = { fits: 0, busy: 0, waking: 0, draining: 0, off: 0 };
  const forecastByLabels = ({ counts, ...facts }: Partial<Omit<TargetFacts, 'counts'>> & { counts?: object } = {}) =>
    forecastRunByLabels({
      ...run,
      prefer: 'running',
      idle: [],
      exempt: 0,
      wakes: null,
      missing: [],
      counts: { ...none, ...counts },
      ...facts,
    });
  const idle = [
    { agentId: 'earlier', lastActivityMs: 1 },
    { agentId: 'later', lastActivityMs: 2 },
  ];

  it('a run with a target is expected to start on the idle agent that the target prefers', () => {
    const counts = { fits: 2 };
    expect(forecastByLabels({ counts, idle })).toMatchObject({ would: 'start', agentId: 'later' });
    expect(forecastByLabels({ counts, idle, prefer: 'spread' })).toMatchObject({ would: 'start', agentId: 'earlier' });
  });

  it('a run with a target is expected to wake an agent if no fitting agent is idle', () => {
    const reason = 'none of the 2 agents with the required labels is free: 1 busy, 1 off; one is started';
    const counts = { fits: 2, busy: 1, off: 1 };
    expect(forecastByLabels({ counts, wakes: 'asleep' })).toEqual({ would: 'wake', agentId: 'asleep', reason });
  });

  it.each<[string, Parameters<typeof forecastByLabels>[0], string]>([
    [
      'an agent that boots',
      { counts: { fits: 1, waking: 1 } },
      'the only agent with the required labels is not free: 1 being started',
    ],
    [
      'an agent to be free',
      { counts: { fits: 2, busy: 2 } },
      'none of the 2 agents with the required labels is free: 2 busy',
    ],
    [
      'an agent that a user must start',
      { counts: { fits: 1, off: 1 }, autoWake: false },
      'the only agent with the required labels is not free: 1 off; the setting vmAutoWakeOnJob is off',
    ],
    [
      'other agents than drained ones and those for runs that name them',
      { counts: { fits: 2, draining: 1 }, exempt: 1 },
      'none of the 2 agents with the required labels is free: 1 being drained, 1 for runs that name it',
    ],
  ])('a run with a target is expected to wait for %s', (_, facts, reason) => {
    expect(forecastByLabels(facts)).toEqual({ would: 'wait', reason });
  });

  it('a run with a target is expected to be refused if no agent fits, with the labels that no agent has', () => {
    expect(forecastByLabels({ missing: ['north', 'x-ray'] })).toEqual({
      would: 'refuse',
      reason: 'no_agent_fits: no agent has the label north, x-ray',
    });
    expect(forecastByLabels()).toMatchObject({
      would: 'refuse',
      reason: expect.stringContaining('no agent has all of them'),
    });
  });

  it.each(refused)('a run with a target is expected to be refused for %s', (_, facts, reason) => {
    const counts = { fits: 2 };
    expect(forecastByLabels({ counts, idle, ...facts })).toEqual({
      would: 'refuse',
      reason: expect.stringContaining(reason),
    });
  });

  it.each(waiting)('a run with a target is expected to wait for %s without waking an agent', (_, facts, reason) => {
    const counts = { fits: 2, off: 1 };
    expect(forecastByLabels({ counts, idle, wakes: 'asleep', ...facts })).toEqual({ would: 'wait', reason });
  });
});
