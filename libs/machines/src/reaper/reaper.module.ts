import { Module } from '@nestjs/common';
import { VaultModule } from '@muster/vault';
import { MachinesModule } from '../orders/machines.module';
import { Reaper } from './reaper';

@Module({ imports: [MachinesModule, VaultModule], providers: [Reaper], exports: [Reaper] })
export class ReaperModule {}
