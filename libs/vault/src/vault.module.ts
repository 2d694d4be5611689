import { Global, Module } from '@nestjs/common';
import { BaseConfig } from '@muster/platform';
import { KeyRing } from './key-ring';

@Global()
@Module({
  providers: [
    {
      provide: KeyRing,
      inject: [BaseConfig],
      useFactory: (config: BaseConfig) => KeyRing.parseKeyRing(config.masterKeys),
    },
  ],
  exports: [KeyRing],
})
export class VaultModule {}
