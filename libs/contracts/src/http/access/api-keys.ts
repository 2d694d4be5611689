import { DateTimeField, EnumField, ListField, TextField, UuidField } from '../fields';

export const apiKeyScopes = ['api', 'worker'] as const;
export type ApiKeyScope = (typeof apiKeyScopes)[number];

export class CreateApiKeyBody {
  @TextField({ example: 'nightly claims' }) name!: string;
  @EnumField(apiKeyScopes) scope!: ApiKeyScope;
  @UuidField({ optional: true, nullable: true, description: 'The only agent that the key may act for.' })
  agentId?: string | null;
  @DateTimeField({ optional: true, nullable: true }) expiresAt?: string | null;
}

export class ApiKeyParams {
  @TextField({ max: 64, example: 'k3v9x2m4q8w1' }) id!: string;
}

export class ApiKey {
  @TextField({ example: 'k3v9x2m4q8w1' }) id!: string;
  @TextField({ example: 'nightly claims' }) name!: string;
  @EnumField(apiKeyScopes) scope!: ApiKeyScope;
  @UuidField({ nullable: true }) agentId!: string | null;
  @DateTimeField({ nullable: true }) expiresAt!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) lastUsedAt!: string | null;
}

export class CreatedApiKey {
  @TextField({ example: 'k3v9x2m4q8w1' }) id!: string;
  @TextField({ example: 'nightly claims' }) name!: string;
  @EnumField(apiKeyScopes) scope!: ApiKeyScope;
  @UuidField({ nullable: true }) agentId!: string | null;
  @DateTimeField({ nullable: true }) expiresAt!: string | null;
  @TextField({ description: 'Shown this once.', example: 'msk_k3v9x2m4q8w1_…' }) secret!: string;
}

export class ApiKeyList {
  @ListField(() => ApiKey) apiKeys!: ApiKey[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
