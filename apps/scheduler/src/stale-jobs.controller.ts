import { Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { cron, Endpoint } from '@muster/access';
import { StaleJobs } from '@muster/contracts';
import { Database } from '@muster/database';
import { failStaleJobs } from '@muster/jobs';
import { SchedulerConfig } from './scheduler.config';

const staleJobs = {
  summary: 'Fail stale jobs of all organizations',
  description:
    'Fails runs that exceed their maximum runtime and jobs whose worker no longer reports. The service also fails ' +
    'these jobs automatically, so this request is not required. A body is ignored.',
  access: cron,
  answer: StaleJobs,
};

@ApiTags('Cron')
@Controller('/api/cron/stale-jobs')
export class StaleJobsController {
  constructor(
    @Inject(SchedulerConfig) private readonly config: SchedulerConfig,
    @Inject(Database) private readonly database: Database,
  ) {}

  @Get()
  @Endpoint(staleJobs)
  read(): Promise<StaleJobs> {
    return this.failStaleJobs();
  }

  @Post()
  @Endpoint(staleJobs)
  post(): Promise<StaleJobs> {
    return this.failStaleJobs();
  }

  private async failStaleJobs(): Promise<StaleJobs> {
    const { scanned, failed, killed, retried } = await failStaleJobs(this.database, this.config.staleLimits);
    return { scanned, failed, killed, retried };
  }
}
