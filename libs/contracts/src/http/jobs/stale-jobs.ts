import { IntField, TextListField } from '../fields';

export class StaleJobs {
  @IntField({ example: 3, description: 'Number of jobs that were checked.' }) scanned!: number;
  @TextListField({
    max: 36,
    maxItems: 100_000,
    example: ['0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e'],
    description:
      'Ids of the jobs that this check failed: over their maximum duration, lost, or stalled if the organization ' +
      'fails stalled runs.',
  })
  failed!: string[];
  @IntField({
    example: 1,
    description: 'Number of failed jobs whose agents were instructed to kill the remaining processes.',
  })
  killed!: number;
  @IntField({ example: 0, description: 'Number of failed jobs for which a retry was queued.' }) retried!: number;
}
