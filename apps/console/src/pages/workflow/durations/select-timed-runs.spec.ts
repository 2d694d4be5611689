import { findRevisionChanges, selectTimedRuns } from './select-timed-runs';

const makeRun = (id: string, startedAt: string | null, workflowRevision: number, durationMs: number | null = 1500) => ({
  ...{ id, startedAt, workflowRevision, durationMs },
  status: 'completed' as const,
});

describe('the durations of runs', () => {
  it('selectTimedRuns returns runs by their start time, without runs that did not start or have not ended', () => {
    const runs = [
      makeRun('c', '2026-11-03T10:00:00Z', 2),
      makeRun('open', '2026-11-02T12:00:00Z', 2, null),
      makeRun('a', '2026-11-01T10:00:00Z', 1),
      makeRun('cancelled', null, 1),
    ];
    expect(selectTimedRuns(runs)).toEqual([
      { id: 'a', status: 'completed', at: Date.parse('2026-11-01T10:00:00Z') / 1000, seconds: 1.5, revision: 1 },
      { id: 'c', status: 'completed', at: Date.parse('2026-11-03T10:00:00Z') / 1000, seconds: 1.5, revision: 2 },
    ]);
  });

  it('findRevisionChanges returns each run whose workflow revision differs from that of the run before', () => {
    const runs = [1, 1, 2, 2, 1, 3].map((revision, at) =>
      makeRun(`run-${at}`, `2026-11-0${at + 1}T10:00:00Z`, revision),
    );
    expect(findRevisionChanges(selectTimedRuns(runs)).map(({ id, revision }) => [id, revision])).toEqual([
      ['run-2', 2],
      ['run-4', 1],
      ['run-5', 3],
    ]);
  });
});
