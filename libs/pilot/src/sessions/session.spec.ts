import { writeSessionHeadline } from './session-headline';
import { buildSessionTimeline } from './session-timeline';

const none = { attempted: 0, eobUploaded: 0, noEobFound: 0, failed: 0 };
const minute = 60_000;

describe('writeSessionHeadline', () => {
  it.each([
    [none, null, null, 'No claims.'],
    [none, 90 * minute, 'portal_logged_out', 'No claims in 1 hour 30 minutes; stopped: portal_logged_out.'],
    [{ ...none, attempted: 1, eobUploaded: 1 }, 12_400, null, '1 claim in 12 seconds: 1 EOB uploaded.'],
    [
      { attempted: 12, eobUploaded: 8, noEobFound: 3, failed: 1 },
      35 * minute,
      null,
      '12 claims in 35 minutes: 8 EOBs uploaded, 3 without an EOB, 1 failed.',
    ],
    [{ ...none, attempted: 10_000, failed: 10_000 }, 120 * minute, null, '10,000 claims in 2 hours: 10,000 failed.'],
    [
      { ...none, attempted: 2, failed: 2 },
      null,
      'The portal\n is down.',
      '2 claims: 2 failed; stopped: The portal is down.',
    ],
  ])(
    'a pilot session’s headline states counts, duration and stop reason in one sentence (case %#)',
    (claims, durationMs, stopReason, sentence) => {
      expect(writeSessionHeadline({ claims, durationMs, stopReason })).toBe(sentence);
    },
  );

  it('a pilot session’s headline shortens a long stop reason', () => {
    const sentence = writeSessionHeadline({ claims: none, durationMs: null, stopReason: '🦷'.repeat(500) });
    expect([...sentence].length).toBeLessThan(250);
    expect(sentence.endsWith('🦷….')).toBe(true);
  });
});

describe('buildSessionTimeline', () => {
  const atSecond = (seconds: number) => new Date(Date.UTC(2026, 0, 31, 9, 0, seconds));
  const makeClaim = (claimId: string, seconds: number | null) => ({
    claimId,
    outcome: 'eob_uploaded' as const,
    processingMicros: seconds === null ? null : seconds * 1_000_000,
  });
  const entriesOf = (facts: Partial<Parameters<typeof buildSessionTimeline>[0]>) =>
    buildSessionTimeline({
      startedAt: null,
      finishedAt: null,
      ingestedAt: atSecond(1000),
      claims: [],
      stops: [],
      ...facts,
    }).map((entry) => [entry.kind, entry.claimId ?? entry.reason, (entry.at.getTime() - atSecond(0).getTime()) / 1000]);

  it('a claim’s time is computed from the session’s start and the processing times up to the claim', () => {
    const stops = [{ reason: 'pause', at: atSecond(25), detail: null }];
    const claims = [makeClaim('A', 20), makeClaim('B', null), makeClaim('C', 10.5)];
    expect(entriesOf({ startedAt: atSecond(0), finishedAt: atSecond(60), claims, stops })).toEqual([
      ['started', null, 0],
      ['claim', 'A', 20],
      ['claim', 'B', 20],
      ['stop', 'pause', 25],
      ['claim', 'C', 30.5],
      ['finished', null, 60],
    ]);
  });

  it('without a known start, claim times are computed backwards from the session’s end or the report’s arrival', () => {
    const claims = [makeClaim('A', 20), makeClaim('B', 10)];
    expect(entriesOf({ finishedAt: atSecond(100), claims })).toEqual([
      ['claim', 'A', 90],
      ['claim', 'B', 100],
      ['finished', null, 100],
    ]);
    expect(entriesOf({ claims })).toEqual([
      ['claim', 'A', 990],
      ['claim', 'B', 1000],
    ]);
  });

  it('claims later than the session’s end are shown at the end, unless the end is before the start', () => {
    expect(entriesOf({ startedAt: atSecond(0), finishedAt: atSecond(5), claims: [makeClaim('A', 20)] })).toEqual([
      ['started', null, 0],
      ['claim', 'A', 5],
      ['finished', null, 5],
    ]);
    expect(entriesOf({ startedAt: atSecond(10), finishedAt: atSecond(5), claims: [makeClaim('A', 20)] })).toEqual([
      ['finished', null, 5],
      ['started', null, 10],
      ['claim', 'A', 30],
    ]);
  });
});
