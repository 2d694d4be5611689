import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';

@Module({ imports: [DatabaseModule, AccessModule] })
export class IngestModule {}
