import { Global, Module } from '@nestjs/common';
import { Authenticator } from './authentication/authenticator';
import { AccessGuard } from './requests/access-guard';
import { Mutations } from './requests/mutations';
import { StandingAccess } from './requests/standing-access';

/** Puts the guard in front of every route of the process. */
@Global()
@Module({
  providers: [Authenticator, Mutations, StandingAccess, AccessGuard],
  exports: [Authenticator, Mutations, StandingAccess],
})
export class AccessModule {}
