import { Module } from '@nestjs/common';
import { AccessModule } from '@muster/access';
import { DatabaseModule } from '@muster/database';
import { StorageModule } from '@muster/storage';
import { MeteringProcessor } from './metering.processor';

@Module({ imports: [DatabaseModule, AccessModule, StorageModule], providers: [MeteringProcessor] })
export class MeteringModule {}
