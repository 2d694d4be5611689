import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { VaultModule } from '@muster/vault';
import { CronController } from './cron.controller';
import { Maintenance } from './maintenance';
import { ScheduleTicks } from './schedule-ticks';
import { ScheduleProcessor } from './schedule.processor';
import { StaleJobsTick } from './stale-jobs-tick';
import { StaleJobsController } from './stale-jobs.controller';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule],
  controllers: [CronController, StaleJobsController],
  providers: [ScheduleProcessor, ScheduleTicks, StaleJobsTick, Maintenance],
})
export class SchedulerModule {}
