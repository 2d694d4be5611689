export { AccessModule } from './access.module';
export {
  createApiKey,
  insertApiKey,
  listApiKeys,
  type NewApiKey,
  revokeAgentKeys,
  revokeApiKey,
} from './api-keys/api-keys';
export { isWorkerKeyOf } from './api-keys/worker-key';
export { type Actor, audit, type AuditRecord, changesBetween } from './audit/audit';
export { nameOf, sourceOf, spokenNameOf } from './audit/actor-words';
export { type AuditRow, listAudit } from './audit/list-audit';
export { newApiKey } from './authentication/credentials';
export { logIn, type LoginParts } from './authentication/log-in';
export { logOut } from './authentication/log-out';
export { overrideOrganization } from './authentication/override-organization';
export { Passwords } from './authentication/passwords';
export { SignInConfig } from './authentication/sign-in.config';
export { bootstrapFaults, type BootstrapInput, bootstrapOrganization } from './bootstrap-organization';
export {
  createOrganization,
  findOrganization,
  listOrganizations,
  updateOrganization,
} from './organizations/organizations';
export { purgeByRetention } from './organizations/retention';
export { readSettings, type SettingsRow, updateSettings } from './organizations/settings';
export type { KeyPrincipal, Principal, UserPrincipal } from './principal';
export { purgeExpired } from './purge-expired';
export {
  type AccessRule,
  anyone,
  cron,
  requireUnsuspended,
  sessionsAndKeysOf,
  sessionsOf,
  signers,
  workers,
  workersAndSessionsOf,
} from './requests/access-rule';
export { CronConfig } from './requests/cron-secret';
export { Endpoint, type EndpointOptions } from './requests/endpoint';
export { type MutationOptions, MutationRequest, type MutationResult, Mutations } from './requests/mutations';
export {
  Browser,
  Caller,
  CallerIfAny,
  FromBrowser,
  IfMatch,
  Mutation,
  OrganizationId,
  SentHeader,
} from './requests/request-parts';
export { StandingAccess } from './requests/standing-access';
export { sign, signatureHeader, signedAt, type Verdict, verify } from './signing/signature';
export { signingSecretsOf } from './signing/signing-secrets';
export { createUser, findUser, listUsers, updateUser } from './users/users';
export { type Hidden, hideSecrets } from './vault/hide-secrets';
export {
  deleteSecret,
  listSecrets,
  putSecret,
  requireSecrets,
  resolveSecrets,
  rewrapSecrets,
  secretValues,
} from './vault/secrets';
