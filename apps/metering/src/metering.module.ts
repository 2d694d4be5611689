import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { MeteringProcessor } from './metering.processor';

@Module({ imports: [DatabaseModule, AccessModule], providers: [MeteringProcessor] })
export class MeteringModule {}
