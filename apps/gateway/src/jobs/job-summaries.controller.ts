import { Controller, Get, Inject, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
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
    summary: 'Group failed jobs by cause',
    description:
      'The cause with the most recent failure comes first. Two runs have the same cause if the first lines of their ' +
      'errors are equal, apart from words that contain digits, such as numbers, ids and times.',
    access: allowSessionsAndKeys('runs.read'),
    answer: FailureCauses,
    errors: ['invalid_payload'],
  })
  failures(@OrganizationId() organizationId: string, @Query() query: FailureQuery): Promise<FailureCauses> {
    return groupFailures(this.database, organizationId, { ...query, now: this.clock.now() });
  }

  @Get('/activity')
  @Endpoint({
    summary: 'Count ended jobs by hour',
    description: 'Returns the number of completed, failed and cancelled jobs for each hour in which jobs ended.',
    access: allowSessionsAndKeys('runs.read'),
    answer: JobActivity,
    errors: ['invalid_payload'],
  })
  activity(@OrganizationId() organizationId: string, @Query() query: ActivityQuery): Promise<JobActivity> {
    return readActivity(this.database, organizationId, { ...query, now: this.clock.now() });
  }
}
