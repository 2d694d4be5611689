import { AgentsModule } from '@muster/agents';
import { Module } from '@nestjs/common';
import { Dispatch } from './dispatch/dispatch';

@Module({ imports: [AgentsModule], providers: [Dispatch], exports: [Dispatch] })
export class JobsModule {}
