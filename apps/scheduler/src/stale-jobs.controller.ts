import { Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { cron, Endpoint } from '@muster/access';
import { StaleJobs } from '@muster/contracts';
import { StaleJobsTick } from './stale-jobs-tick';

const staleJobs = {
  summary: 'Fail runs past their limit, in all organizations',
  description: 'The service ticks by itself as well; whoever comes first, each job fails once. No body is read.',
  access: cron,
  answer: StaleJobs,
};

@ApiTags('Cron')
@Controller('/api/cron/stale-jobs')
export class StaleJobsController {
  constructor(@Inject(StaleJobsTick) private readonly watchdog: StaleJobsTick) {}

  @Get()
  @Endpoint(staleJobs)
  read(): Promise<StaleJobs> {
    return this.tick();
  }

  @Post()
  @Endpoint(staleJobs)
  post(): Promise<StaleJobs> {
    return this.tick();
  }

  private async tick(): Promise<StaleJobs> {
    const { scanned, failed, killed, retried } = await this.watchdog.runOnce();
    return { scanned, failed, killed, retried };
  }
}
