import { Global, Module } from '@nestjs/common';
import { VaultModule } from '@muster/vault';
import { AccessLog } from './audit/access-log';
import { Authenticator } from './authentication/authenticator';
import { AccessGuard } from './requests/access-guard';
import { Mutations } from './requests/mutations';
import { ScimTokens } from './scim/scim-tokens';
import { AccessRecheck } from './requests/access-recheck';
import { RecentWriters } from './requests/recent-writers';

/** Registers the guard that checks every request of the process. */
@Global()
@Module({
  imports: [VaultModule],
  providers: [AccessLog, Authenticator, ScimTokens, Mutations, AccessRecheck, RecentWriters, AccessGuard],
  exports: [AccessLog, Authenticator, Mutations, AccessRecheck],
})
export class AccessModule {}
