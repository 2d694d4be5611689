import { CommandsModule } from '@muster/commands';
import { Module } from '@nestjs/common';
import { Dispatch } from './dispatch/dispatch';

@Module({ imports: [CommandsModule], providers: [Dispatch], exports: [Dispatch] })
export class JobsModule {}
