import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { VaultModule } from '@muster/vault';
import { CronController } from './cron.controller';
import { Maintenance } from './maintenance';
import { ScheduleTicks } from './schedule-ticks';
import { ScheduleProcessor } from './schedule.processor';

@Module({
  imports: [DatabaseModule, AccessModule, VaultModule],
  controllers: [CronController],
  providers: [ScheduleProcessor, ScheduleTicks, Maintenance],
})
export class SchedulerModule {}
