import { Module } from '@nestjs/common';
import { Models } from './models';

@Module({ providers: [Models], exports: [Models] })
export class ModelsModule {}
