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

  const names = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, 1]));
  it.each([
    ['200 names', names(200), false],
    ['201 names', names(201), true],
    ['60,000 bytes', { a: 'x'.repeat(60_000 - 8) }, false],
    ['60,001 bytes', { a: 'x'.repeat(60_001 - 8) }, true],
  ])('the metadata of a step with %s is stored in full up to the limit', (_, metadata, isCut) => {
    const events = [
      { type: 'step_started', key: 'a' },
      { type: 'step_finished', key: 'a', metadata },
    ];
    const { items } = parseEvents(events, createFirstState('job', '/run'), now);
    const stored = (items.at(-1) as unknown as { body: { metadata: Record<string, unknown> } }).body.metadata;
    expect('cut' in stored).toBe(isCut);
    if (!isCut) expect(stored).toEqual(metadata);
  });
});
