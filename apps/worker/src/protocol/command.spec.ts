import { computeClockAheadMs, parseCommand, toPositiveNumberOrNull } from './command';

const body = {
  commandId: 'c1',
  kind: 'snippet',
  agentId: 'a1',
  organizationId: 'o1',
  deadline: '2026-03-02T09:00:00Z',
};

describe('a command that a worker receives', () => {
  it('a command is read with its defaults, and its deadline is moved to this machine’s clock', () => {
    expect(parseCommand(body, 'a1', 5000)).toEqual({
      ...{ commandId: 'c1', kind: 'snippet', agentId: 'a1', organizationId: 'o1', jobId: null, env: {}, payload: {} },
      deadline: Date.parse('2026-03-02T09:00:05Z'),
    });
    const bare = parseCommand({ ...body, deadline: 'soon', organizationId: 7, jobId: null, env: null }, 'a1', 0);
    expect(bare).toMatchObject({ deadline: null, organizationId: '', jobId: null, env: {} });
  });

  it.each<[string, unknown, RegExp]>([
    ['no object', [], /must be an object/],
    ['no id', { ...body, commandId: undefined }, /commandId must be an id/],
    ['a path as an id', { ...body, commandId: '../x' }, /commandId must be an id/],
    ['an id of 101 characters', { ...body, commandId: 'x'.repeat(101) }, /commandId must be an id/],
    ['an unknown kind', { ...body, kind: 'dance' }, /upgrade the worker/],
    ['a name of every object as the kind', { ...body, kind: 'toString' }, /upgrade the worker/],
    ['another agent', { ...body, agentId: 'a2' }, /another agent/],
    ['a number as the job', { ...body, jobId: 7 }, /jobId must be an id/],
    ['a run without a job', { ...body, kind: 'run' }, /requires jobId/],
    ['a list as env', { ...body, env: [] }, /env must be an object/],
    ['a text as payload', { ...body, payload: 'x' }, /payload must be an object/],
  ])('%s is refused', (_, input, reason) => {
    expect(parseCommand(input, 'a1', 0)).toMatch(reason);
  });

  it('a command’s id may have 100 characters, and the worker leaves out variables that no process can have', () => {
    const env = { A: 'x', B: 7, C: { d: 1 }, D: null, 'E=': 'x', F: 'a\0b', 'G\0': 'x' };
    expect(parseCommand({ ...body, commandId: 'x'.repeat(100), env }, 'a1', 0)).toMatchObject({
      commandId: 'x'.repeat(100),
      env: { A: 'x', B: '7', C: '{"d":1}' },
    });
  });

  it.each([
    [null, 0],
    [10_000, 0],
    [8000, 0],
    [7999, 2001],
    [12_000, 0],
    [12_001, -2001],
  ])('a service whose clock shows %s ms while the worker’s shows 10,000 ms is %s ms behind', (serviceMs, aheadMs) => {
    expect(computeClockAheadMs(serviceMs, 10_000)).toBe(aheadMs);
  });

  it('a worker reads only a finite number above 0 as a positive number', () => {
    expect([1, 0.5, 0, -1, NaN, Infinity, '1', null].map(toPositiveNumberOrNull)).toEqual([
      ...[1, 0.5, null, null, null, null, null, null],
    ]);
  });
});
