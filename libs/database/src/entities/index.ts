import {
  ApiKeyEntity,
  AuditEntryEntity,
  IdempotencyKeyEntity,
  SessionEntity,
  UserEntity,
  VaultSecretEntity,
} from './access';
import { AgentEntity } from './agent';
import { OrganizationEntity, OrganizationSettingsEntity } from './organization';
import { OutboxEntity, QueueProbeEntity } from './outbox';

export const entities = [
  AgentEntity,
  ApiKeyEntity,
  AuditEntryEntity,
  IdempotencyKeyEntity,
  OrganizationEntity,
  OrganizationSettingsEntity,
  OutboxEntity,
  QueueProbeEntity,
  SessionEntity,
  UserEntity,
  VaultSecretEntity,
];
