import { EnumField, IdListField, IntField, ObjectField, TextField, UuidField } from '../fields';

export class CancelJobBody {
  @TextField({ optional: true, max: 1000, example: 'launched by mistake' }) reason?: string;
}

export class CancelJobsFilter {
  @UuidField({ optional: true }) agentId?: string;
  @UuidField({ optional: true }) workflowId?: string;
  @UuidField({ optional: true }) scheduleId?: string;
  @UuidField({ optional: true }) batchId?: string;
  @EnumField(['queued', 'running'], { optional: true }) status?: 'queued' | 'running';
}

export class CancelJobsBody {
  @IdListField({ optional: true, maxItems: 1000, example: ['0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e'] })
  ids?: string[];
  @ObjectField(() => CancelJobsFilter, { optional: true }) filter?: CancelJobsFilter;
  @TextField({ optional: true, max: 1000, example: 'launched by mistake' }) reason?: string;
}

export class CancelledJobs {
  @IntField({ example: 3, description: 'Number of jobs that were cancelled at once, because they had not started.' })
  cancelled!: number;
  @IntField({
    example: 1,
    description:
      'Number of jobs that are being stopped. Each job is cancelled when its agent confirms that the job has stopped.',
  })
  cancelling!: number;
  @IntField({ example: 0, description: 'Number of jobs that had already ended or do not exist.' }) skipped!: number;
}
