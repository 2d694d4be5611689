import { createFirstState } from './run-state';
import { parseEvents } from './script-events';

const now = Date.parse('2026-03-02T09:00:00Z');

describe('parseEvents', () => {
  it.each([1e13, -1, Number.MAX_VALUE, NaN, '1767225600', null, undefined])(
    'an event with an invalid time gets the time at which it was read: %p',
    (at) => {
      const events = [
        { type: 'step_started', key: 'a', name: 'Open the portal', at },
        { type: 'step_finished', key: 'a', at },
        { type: 'log', message: 'done', at },
      ];
      const { items, invalid } = parseEvents(events, createFirstState('job', '/run'), now);
      expect(invalid).toEqual([]);
      const time = '2026-03-02T09:00:00.000Z';
      expect(items).toMatchObject([
        { kind: 'step', body: { status: 'running', startedAt: time } },
        { kind: 'step', body: { status: 'passed', startedAt: time, finishedAt: time } },
        { kind: 'log', entry: { timestamp: now / 1000 } },
      ]);
    },
  );

  it('an event with a valid time keeps that time', () => {
    const { items } = parseEvents(
      [{ type: 'step_started', key: 'a', at: 1767225600.25 }],
      createFirstState('job', '/run'),
      now,
    );
    expect(items).toMatchObject([{ body: { startedAt: '2026-01-01T00:00:00.250Z' } }]);
  });
});
