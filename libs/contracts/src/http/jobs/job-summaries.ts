import { BooleanField, DateTimeField, IntField, ListField, TextField, UuidField } from '../fields';

export class FailureQuery {
  @DateTimeField({
    optional: true,
    description: 'Only runs that failed at or after this time; defaults to 24 hours before `to`.',
  })
  from?: string;
  @DateTimeField({ optional: true, description: 'Only runs that failed before this time; defaults to now.' })
  to?: string;
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) agentId?: string;
}

export class FailureCause {
  @TextField({
    max: 16,
    example: '5f1c0a9be2d47a63',
    description: 'Identifier of the cause, for the filter `cause` of GET /api/jobs.',
  })
  cause!: string;
  @TextField({
    max: 500,
    example: 'RuntimeError: the portal answered 503',
    description: 'First line of the latest run’s error.',
  })
  message!: string;
  @TextField({ nullable: true, max: 64, example: null }) errorCode!: string | null;
  @IntField({ min: 1, example: 12 }) runs!: number;
  @IntField({ min: 1, example: 3, description: 'Number of agents on which these runs failed.' }) agents!: number;
  @UuidField({ nullable: true, description: 'Workflow of these runs; null if they belong to different workflows.' })
  workflowId!: string | null;
  @TextField({ nullable: true, example: 'Download EOBs' }) workflowName!: string | null;
  @DateTimeField() firstAt!: string;
  @DateTimeField() lastAt!: string;
  @UuidField({ description: 'Id of the latest of these runs.' }) lastJobId!: string;
}

export class FailureCauses {
  @ListField(() => FailureCause) causes!: FailureCause[];
  @BooleanField({
    example: true,
    description: 'Whether all failed runs were counted. If false, only the latest 5,000 failed runs were counted.',
  })
  complete!: boolean;
}

export class ActivityQuery {
  @DateTimeField({
    optional: true,
    description: 'Only runs that ended at or after this time; defaults to 24 hours before `to`.',
  })
  from?: string;
  @DateTimeField({
    optional: true,
    description: 'Only runs that ended before this time; defaults to now. At most 31 days after `from`.',
  })
  to?: string;
}

export class ActivityHour {
  @DateTimeField({ description: 'Start of the hour. Hours follow the organization’s time zone.' }) at!: string;
  @IntField({ example: 40 }) completed!: number;
  @IntField({ example: 2 }) failed!: number;
  @IntField({ example: 0 }) cancelled!: number;
}

export class JobActivity {
  @ListField(() => ActivityHour) hours!: ActivityHour[];
}
