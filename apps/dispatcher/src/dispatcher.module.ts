import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { DispatchProcessor } from './dispatch.processor';

@Module({ imports: [DatabaseModule, AccessModule], providers: [DispatchProcessor] })
export class DispatcherModule {}
