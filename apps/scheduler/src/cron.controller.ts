import { Controller, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { cron, Endpoint } from '@muster/access';
import { ScheduleTicks } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock } from '@muster/platform';
import { presentTicks, runDueSchedules } from '@muster/schedules';
import { KeyRing } from '@muster/vault';

const scheduledRuns = {
  summary: 'Execute due schedules of all organizations',
  description:
    'The service also executes due schedules automatically, so this request is not required. Each scheduled time is ' +
    'executed only once. A body is ignored.',
  access: cron,
  answer: ScheduleTicks,
};

@ApiTags('Cron')
@Controller('/api/cron')
export class CronController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Get('/scheduled-runs')
  @Endpoint(scheduledRuns)
  scheduledRuns(): Promise<ScheduleTicks> {
    return this.runDueSchedules();
  }

  @Post('/scheduled-runs')
  @Endpoint(scheduledRuns)
  postScheduledRuns(): Promise<ScheduleTicks> {
    return this.runDueSchedules();
  }

  private async runDueSchedules(): Promise<ScheduleTicks> {
    const report = await runDueSchedules(this.database, {
      now: this.clock.now(),
      limit: 1000,
      budgetMs: 20_000,
      whenScanned: 'wait',
      keyRing: this.keyRing,
    });
    return presentTicks(report);
  }
}
