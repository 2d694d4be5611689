export { errorTable, type ErrorCode } from './errors/error-table';
export { AppError, type AppErrorOptions, type FieldError } from './errors/app-error';
export { type AppName, type ServiceApp, serviceApps } from './http/apps';
export {
  BooleanField,
  DateTimeField,
  EmailField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  NumberField,
  ObjectField,
  QueryIntField,
  TextField,
  TextListField,
  UrlField,
  UuidField,
} from './http/fields';
export { openApiDocument } from './http/openapi-document';
export { PageQuery } from './http/pages';
export { ownerOf, type PathOwner, pathOwners, patternOf } from './http/path-owners';
export { Problem, ProblemFieldError } from './http/problem';
export { hasRole, organizationRoles, type Role, roles } from './http/roles';
export {
  Identity,
  IdentityOrganization,
  IdentityUser,
  LoginBody,
  OrganizationOverrideBody,
  SuccessAnswer,
} from './http/access/auth';
export {
  ApiKey,
  ApiKeyList,
  ApiKeyParams,
  type ApiKeyScope,
  apiKeyScopes,
  CreateApiKeyBody,
  CreatedApiKey,
} from './http/access/api-keys';
export {
  type ActorKind,
  actorKinds,
  AuditActor,
  AuditEntry,
  AuditList,
  AuditQuery,
  AuditTarget,
} from './http/access/audit';
export {
  CreatedOrganization,
  CreateOrganizationBody,
  Organization,
  OrganizationList,
  UpdateOrganizationBody,
} from './http/access/organizations';
export { OrganizationSettings, SigningSecret, UpdateOrganizationSettingsBody } from './http/access/settings';
export { CreateUserBody, UpdateUserBody, User, UserList } from './http/access/users';
export { PutSecretBody, refusedVariableName, Secret, SecretList, variableNamePattern } from './http/access/vault';
export { DeepHealth, Health, HealthCheck, HealthChecks } from './http/operations/health';
export {
  DeadLetter,
  DeadLetterList,
  DeadLetterQuery,
  QueueProbe,
  QueueProbeList,
  QueueState,
  QueueStateList,
  RequestQueueProbesBody,
} from './http/operations/queues';
export {
  jobDefinition,
  type JobDefinition,
  type JobName,
  type JobPayload,
  queueCatalogue,
  queueDefinition,
  type QueueDefinition,
  type QueueName,
  queueNames,
  type RetryPolicy,
} from './queues/catalogue';
export type { Doorbell, DoorbellData, OutboxMessage } from './queues/doorbell';
export { ProbePayload } from './queues/payloads';
