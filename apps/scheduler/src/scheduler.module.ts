import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { StorageModule } from '@muster/storage';
import { VaultModule } from '@muster/vault';
import { CronController } from './cron.controller';
import { SchedulerLoops } from './scheduler-loops';
import { ScheduleProcessor } from './schedule.processor';
import { StaleJobsController } from './stale-jobs.controller';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule, StorageModule],
  controllers: [CronController, StaleJobsController],
  providers: [ScheduleProcessor, SchedulerLoops],
})
export class SchedulerModule {}
