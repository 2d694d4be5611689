import type { Job } from '../../../api/generated';

type Timed = Pick<Job, 'id' | 'status' | 'startedAt' | 'durationMs' | 'workflowRevision'>;

/** A run that has ended, with the time of its start in seconds since the epoch. */
export interface TimedRun {
  id: string;
  status: Job['status'];
  at: number;
  seconds: number;
  revision: number;
}

/** Returns the runs that have started and ended, in the order of their starts. */
export function selectTimedRuns(runs: readonly Timed[]): TimedRun[] {
  return runs
    .flatMap(({ id, status, startedAt, durationMs, workflowRevision }) =>
      startedAt === null || durationMs === null
        ? []
        : [{ id, status, at: Date.parse(startedAt) / 1000, seconds: durationMs / 1000, revision: workflowRevision }],
    )
    .sort((a, b) => a.at - b.at);
}

/** Returns the first run of each revision that follows a run of another revision. */
export function findRevisionChanges(runs: readonly TimedRun[]): TimedRun[] {
  return runs.filter(({ revision }, at) => at > 0 && runs[at - 1]!.revision !== revision);
}
