export { AccessModule } from './access.module';
export {
  createApiKey,
  insertApiKey,
  listApiKeys,
  type NewApiKey,
  revokeAgentKeys,
  revokeApiKey,
} from './api-keys/api-keys';
export { isValidWorkerKey } from './api-keys/worker-key';
export { type Actor, audit, type AuditRecord, listChangedFields } from './audit/audit';
export { describeCaller, getCallerChannel, describeCallerInSentence } from './audit/actor-names';
export { AccessLog } from './audit/access-log';
export { closeAuditDays } from './audit/chain/close-days';
export { defaultRetention } from './audit/chain/cut-days';
export { linkNewAuditRows } from './audit/chain/link-rows';
export { presentAccessEntry, presentAuditEntry } from './audit/chain/presented-rows';
export { readAuditProof } from './audit/chain/read-proof';
export { type Verification, verifyAuditLogs } from './audit/chain/verify-logs';
export { exportAccessEntries, listAccessEntries } from './audit/list-accesses';
export { listAuditEntries } from './audit/list-audit';
export { generateApiKey } from './authentication/credentials';
export {
  answerDeviceLogin,
  startDeviceLogin,
  devicePollSeconds,
  endDeviceLogin,
  fetchDeviceKey,
  findDeviceLogin,
} from './api-keys/device-logins';
export { logIn, type LoginParts } from './authentication/log-in';
export type { BreakGlass, OpenedSession, SignInClient } from './authentication/open-session';
export { overrideOrganization } from './authentication/override-organization';
export { Passwords } from './authentication/passwords';
export { endOtherSessions, endSession, listSessions, type SessionRow } from './authentication/sessions';
export {
  startFactorEnrolment,
  type CodeParts,
  finishFactorEnrolment,
  logInWithCode,
} from './authentication/sign-in-with-ticket';
export { logInWithPasskey } from './second-factor/sign-in-with-passkey';
export { SignInConfig } from './authentication/sign-in.config';
export { checkBootstrapInput, type BootstrapInput, bootstrapOrganization } from './bootstrap-organization';
export {
  createOrganization,
  findOrganization,
  listOrganizations,
  type OrganizationRow,
  updateOrganization,
} from './organizations/organizations';
export { purgeByRetention } from './organizations/retention';
export { presentOrganizationSettings, readSettings, type SettingsRow, updateSettings } from './organizations/settings';
export { getBoundAgent, type KeyPrincipal, type Principal, type UserPrincipal } from './principal';
export { purgeExpiredCredentials } from './purge-expired';
export {
  type AccessRule,
  anyone,
  cron,
  requireRecentFactor,
  requireUnsuspended,
  allowSessionsAndKeys,
  allowSessions,
  signedIn,
  signedInOrTicket,
  scim,
  signers,
  workers,
  allowWorkersAndSessions,
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
  ScimCaller,
  SetLocation,
  SentHeader,
} from './requests/request-parts';
export { type LastingAccess, AccessRecheck } from './requests/access-recheck';
export {
  startOwnTotp,
  confirmOwnTotp,
  toFactorOwner,
  proveSecondFactorAgain,
  removeOwnTotp,
} from './second-factor/own-factor';
export {
  addPasskey,
  listPasskeys,
  buildPasskeyCreationOptions,
  buildPasskeyRequestOptions,
  type PasskeyRow,
  removePasskey,
} from './second-factor/passkeys';
export { deriveRelyingParty } from './second-factor/relying-party';
export { readOwnSecondFactor, rewrapSecondFactors } from './second-factor/second-factors';
export { parseGroupBody, parseGroupPatch } from './scim/group-changes';
export { parseScimFilter } from './scim/parse-filter';
export { scimContentType, toScimError } from './scim/scim-error';
export {
  createScimGroup,
  deleteScimGroup,
  findScimGroup,
  groupFilters,
  listScimGroups,
  type ScimGroupRow,
  updateScimGroup,
} from './scim/scim-groups';
export { createScimToken, deleteScimToken, readScimToken, type ScimClient } from './scim/scim-tokens';
export {
  createScimUser,
  deleteScimUser,
  findScimUser,
  listScimUsers,
  type ScimPage,
  type ScimUserRow,
  updateScimUser,
  userFilters,
} from './scim/scim-users';
export { parseUserBody, parseUserPatch } from './scim/user-changes';
export {
  type DomainRow,
  listDomainProofs,
  proveDomain,
  buildDomainProofRecord,
  requireDomainRecord,
} from './sso/domains';
export { IdentityProviders } from './sso/identity-providers';
export { SsoRefused } from './sso/sso-refused';
export { finishSsoSignIn, type SsoParts, startSsoSignIn } from './sso/sign-in-with-sso';
export { signInLifetimeMs } from './sso/sign-ins';
export {
  deleteSsoSettings,
  readSsoProvider,
  putSsoSettings,
  readSsoSettings,
  rewrapSsoSecrets,
  type SsoSettings,
} from './sso/sso-settings';
export { TxtRecords } from './sso/txt-records';
export { signText, signatureHeader, readSignatureTime, type Verdict, checkSignature } from './signing/signature';
export { deriveAgentSigningSecrets, listSecretsForAgent, deriveSigningSecrets } from './signing/signing-secrets';
export { acceptInvitation, createInvitation, createResetLink, resetPassword } from './users/account-links';
export { buildLinkUrl, writeAccountMail } from './users/account-mail';
export { changeOwnPassword } from './users/own-password';
export { createOwnRole, deleteOwnRole, listRoles, updateOwnRole } from './users/own-roles';
export { createUser, findUser, listUsers, resetSecondFactor, updateUser } from './users/users';
export {
  loadValueOpener,
  loadValueCipher,
  loadValueSealer,
  openVariables,
  rewrapValueKeys,
  sealNamedVariables,
  sealVariables,
} from './vault/sealed-values';
export { generateVaultTotp, type GivenCode } from './vault/generate-vault-totp';
export { createSecretRedactor, type Hidden, loadSecretRedactor } from './vault/hide-secrets';
export {
  deleteSecret,
  listSecrets,
  putSecret,
  findTotpKeys,
  requireExistingSecrets,
  resolveSecrets,
  rewrapSecrets,
  decryptAllSecrets,
} from './vault/secrets';
