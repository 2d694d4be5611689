import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, sessionsAndKeysOf } from '@muster/access';
import { ActivityQuery, FailureCauses, FailureQuery, JobActivity } from '@muster/contracts';
import { Database } from '@muster/database';
import { groupFailures, readActivity } from '@muster/jobs';
import { Clock } from '@muster/platform';

@ApiTags('Jobs')
@Controller('/api/jobs')
export class JobSummariesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get('/failures')
  @Endpoint({
    summary: 'Failed jobs by their cause, the latest first',
    reads: 'runs',
    description:
      'Two runs have the same cause where their errors’ first lines are the same but for words with digits: numbers, ids, times.',
    access: sessionsAndKeysOf('viewer'),
    answer: FailureCauses,
    errors: ['invalid_payload'],
  })
  failures(@OrganizationId() organizationId: string, @Query() query: FailureQuery): Promise<FailureCauses> {
    return groupFailures(this.database, organizationId, { ...query, now: this.clock.now() });
  }

  @Get('/activity')
  @Endpoint({
    summary: 'How many jobs completed, failed and were cancelled in each hour',
    access: sessionsAndKeysOf('viewer'),
    answer: JobActivity,
    errors: ['invalid_payload'],
  })
  activity(@OrganizationId() organizationId: string, @Query() query: ActivityQuery): Promise<JobActivity> {
    return readActivity(this.database, organizationId, { ...query, now: this.clock.now() });
  }
}
