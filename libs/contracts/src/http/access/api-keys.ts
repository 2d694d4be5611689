import { DateTimeField, EnumField, ListField, TextField, TextListField, UuidField } from '../fields';

export const apiKeyScopes = ['api', 'worker'] as const;
export type ApiKeyScope = (typeof apiKeyScopes)[number];

const apiKeyRoles = ['viewer', 'member'] as const;
export type ApiKeyRole = (typeof apiKeyRoles)[number];

export class CreateApiKeyBody {
  @TextField({ visible: true, example: 'nightly claims' }) name!: string;
  @EnumField(apiKeyScopes) scope!: ApiKeyScope;
  @UuidField({
    optional: true,
    nullable: true,
    description:
      'Agent to which the key is bound: it cannot be used for another agent. Allowed only with scope worker.',
  })
  agentId?: string | null;
  @DateTimeField({
    optional: true,
    nullable: true,
    description:
      'Time at which the key expires. The setting apiKeyMaxDays of the organization is the upper limit and the ' +
      'default. Without it, a key without expiresAt does not expire.',
  })
  expiresAt?: string | null;
  @EnumField(apiKeyRoles, {
    optional: true,
    example: 'member',
    description: 'Role of a key of scope api; member when absent. Not allowed for a key of scope worker.',
  })
  role?: ApiKeyRole;
  @TextListField({
    optional: true,
    maxItems: 50,
    max: 49,
    example: ['203.0.113.0/24'],
    description:
      'IP addresses and CIDR ranges from which the key is accepted. When empty, it is accepted from any address.',
  })
  ipAllow?: string[];
}

export class ApiKeyParams {
  @TextField({ max: 64, example: 'k3v9x2m4q8w1' }) id!: string;
}

export class ApiKey {
  @TextField({ example: 'k3v9x2m4q8w1' }) id!: string;
  @TextField({ visible: true, example: 'nightly claims' }) name!: string;
  @EnumField(apiKeyScopes) scope!: ApiKeyScope;
  @UuidField({ nullable: true }) agentId!: string | null;
  @DateTimeField({ nullable: true }) expiresAt!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true }) lastUsedAt!: string | null;
  @TextField({ nullable: true, example: '203.0.113.7' }) lastUsedFrom!: string | null;
  @EnumField(apiKeyRoles, { example: 'member' }) role!: ApiKeyRole;
  @TextListField({
    example: ['203.0.113.0/24'],
    description:
      'IP addresses and CIDR ranges from which the key is accepted. When empty, it is accepted from any address.',
  })
  ipAllow!: string[];
}

export class CreatedApiKey {
  @TextField({ example: 'k3v9x2m4q8w1' }) id!: string;
  @TextField({ visible: true, example: 'nightly claims' }) name!: string;
  @EnumField(apiKeyScopes) scope!: ApiKeyScope;
  @UuidField({ nullable: true }) agentId!: string | null;
  @DateTimeField({ nullable: true }) expiresAt!: string | null;
  @EnumField(apiKeyRoles, { example: 'member' }) role!: ApiKeyRole;
  @TextListField({
    example: ['203.0.113.0/24'],
    description:
      'IP addresses and CIDR ranges from which the key is accepted. When empty, it is accepted from any address.',
  })
  ipAllow!: string[];
  @TextField({
    description: 'The complete API key. Store the key now, because no later response contains it.',
    example: 'msk_k3v9x2m4q8w1_…',
  })
  secret!: string;
}

export class ApiKeyList {
  @ListField(() => ApiKey) apiKeys!: ApiKey[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}
