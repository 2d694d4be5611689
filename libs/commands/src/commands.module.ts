import { StorageModule } from '@muster/storage';
import { Module } from '@nestjs/common';
import { CommandDelivery } from './delivery/command-delivery';

@Module({ imports: [StorageModule], providers: [CommandDelivery], exports: [CommandDelivery] })
export class CommandsModule {}
