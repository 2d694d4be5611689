import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { VaultModule } from '@muster/vault';
import { Maintenance } from './maintenance';
import { ScheduleProcessor } from './schedule.processor';

@Module({ imports: [DatabaseModule, AccessModule, VaultModule], providers: [ScheduleProcessor, Maintenance] })
export class SchedulerModule {}
