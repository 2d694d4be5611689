import { IntField, TextListField } from '../fields';

export class StaleJobs {
  @IntField({ example: 3, description: 'Jobs that were looked at.' }) scanned!: number;
  @TextListField({
    max: 36,
    maxItems: 100_000,
    example: ['0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e'],
    description: 'Jobs that failed by it: past their limit, lost, or stalled where the organization wants that.',
  })
  failed!: string[];
  @IntField({ example: 1, description: 'Of these, those whose agents were told to kill what is left.' })
  killed!: number;
  @IntField({ example: 0, description: 'Of these, those that have a retry.' }) retried!: number;
}
