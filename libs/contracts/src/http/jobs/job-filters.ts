import { DateTimeField, EnumField, TextField, UuidField } from '../fields';
import { PageCursor, PageLimit } from '../pages';
import { type JobStatus, jobStatuses } from './job-status';

const jobSorts = [
  ...(['queuedAt', '-queuedAt', 'startedAt', '-startedAt', 'finishedAt', '-finishedAt'] as const),
  ...(['durationMs', '-durationMs', 'totalCostUsd', '-totalCostUsd'] as const),
] as const;
export type JobSort = (typeof jobSorts)[number];
const jobSortsSaid =
  'Sort field; a leading `-` sorts in descending order. Defaults to -queuedAt. Jobs without a value come last; a job ' +
  'has a cost when it has ended.';

/** Filters and order of an export, which contains all matching jobs. A job must match every filter that is present. */
export class JobsExportQuery {
  @EnumField(jobStatuses, { optional: true }) status?: JobStatus;
  @UuidField({ optional: true }) agentId?: string;
  @TextField({ optional: true, max: 64, description: 'Only jobs that were launched for any agent with this label.' })
  target?: string;
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) scheduleId?: string;
  @UuidField({ optional: true }) batchId?: string;
  @DateTimeField({ optional: true, description: 'Only jobs queued at or after this time.' }) from?: string;
  @DateTimeField({ optional: true, description: 'Only jobs queued before this time.' }) to?: string;
  @DateTimeField({
    optional: true,
    description: 'Only jobs that ended at or after this time. Lists sorted by finishedAt find these jobs fastest.',
  })
  endedFrom?: string;
  @DateTimeField({ optional: true, description: 'Only jobs that ended before this time.' }) endedTo?: string;
  @TextField({
    optional: true,
    max: 200,
    description: 'A run’s id, or part of its id, its error, a variable’s value or its workflow’s name.',
  })
  q?: string;
  @TextField({ optional: true, max: 200, description: 'Part of the error.' }) error?: string;
  @TextField({
    optional: true,
    max: 200,
    example: 'CLAIM_ID=C-1042',
    description: 'Part of a variable’s value. Write NAME=part to search the variable NAME only.',
  })
  variable?: string;
  @TextField({
    optional: true,
    max: 16,
    pattern: /^[0-9a-f]{16}$/,
    description: 'Only failed runs with this cause, as returned by GET /api/jobs/failures.',
  })
  cause?: string;
  @EnumField(jobSorts, { optional: true, example: '-queuedAt', description: jobSortsSaid }) sort?: JobSort;
}

/** Filters, order and page of a list of jobs. */
export class JobFilter extends JobsExportQuery {
  @PageLimit() limit?: number;
  @PageCursor() cursor?: string;
}
