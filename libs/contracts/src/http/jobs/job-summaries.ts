import { BooleanField, DateTimeField, IntField, ListField, TextField, UuidField } from '../fields';

export class FailureQuery {
  @DateTimeField({ optional: true, description: 'Failed then or later; 24 hours before the end when absent.' })
  from?: string;
  @DateTimeField({ optional: true, description: 'Failed before.' }) to?: string;
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) agentId?: string;
}

export class FailureCause {
  @TextField({ max: 16, example: '5f1c0a9be2d47a63', description: 'For the filter `cause` of GET /api/jobs.' })
  cause!: string;
  @TextField({ max: 500, example: 'RuntimeError: the portal answered 503', description: 'As the latest run says it.' })
  message!: string;
  @TextField({ nullable: true, max: 64, example: null }) errorCode!: string | null;
  @IntField({ min: 1, example: 12 }) runs!: number;
  @IntField({ min: 1, example: 3, description: 'On so many agents.' }) agents!: number;
  @UuidField({ nullable: true, description: 'The workflow, where all of these runs are of one.' })
  workflowId!: string | null;
  @TextField({ nullable: true, example: 'Download EOBs' }) workflowName!: string | null;
  @DateTimeField() firstAt!: string;
  @DateTimeField() lastAt!: string;
  @UuidField({ description: 'The latest of these runs.' }) lastJobId!: string;
}

export class FailureCauses {
  @ListField(() => FailureCause) causes!: FailureCause[];
  @BooleanField({ example: true, description: 'False: only the latest 5,000 failed runs were looked at.' })
  complete!: boolean;
}

export class ActivityQuery {
  @DateTimeField({ optional: true, description: 'Finished then or later; 24 hours before the end when absent.' })
  from?: string;
  @DateTimeField({ optional: true, description: 'Finished before; at most 31 days after `from`.' }) to?: string;
}

export class ActivityHour {
  @DateTimeField({ description: 'Where the hour begins, in the organization’s time zone.' }) at!: string;
  @IntField({ example: 40 }) completed!: number;
  @IntField({ example: 2 }) failed!: number;
  @IntField({ example: 0 }) cancelled!: number;
}

export class JobActivity {
  @ListField(() => ActivityHour) hours!: ActivityHour[];
}
