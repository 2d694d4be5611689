import { Module } from '@nestjs/common';
import { CommandDelivery } from './commands/command-delivery';

@Module({ providers: [CommandDelivery], exports: [CommandDelivery] })
export class AgentsModule {}
