import { Body, Controller, Delete, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createApiKey,
  Endpoint,
  listApiKeys,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  revokeApiKey,
  allowSessions,
} from '@muster/access';
import { ApiKey, ApiKeyList, ApiKeyParams, CreateApiKeyBody, CreatedApiKey, SearchQuery } from '@muster/contracts';
import { type ApiKeyEntity, Database } from '@muster/database';
import { Clock, parsePage, buildPage } from '@muster/platform';

@ApiTags('API keys')
@Controller('/api/api-keys')
export class ApiKeysController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List the organization’s API keys',
    access: allowSessions('keys.admin'),
    answer: ApiKeyList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<ApiKeyList> {
    const page = parsePage(query, 'time', 'text');
    const rows = await listApiKeys(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ createdAt, id }) => [createdAt.toISOString(), id]);
    return { apiKeys: items.map(presentApiKey), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create an API key',
    description: 'The response contains the secret, which is not shown again.',
    access: allowSessions('keys.admin'),
    sensitive: true,
    unsuspended: true,
    body: CreateApiKeyBody,
    answer: CreatedApiKey,
    status: 201,
    errors: ['agent_not_found'],
    idempotent: true,
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateApiKeyBody): Promise<CreatedApiKey> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { expiresAt, ...key } = await createApiKey(tx, caller, body, this.clock);
      const answer: CreatedApiKey = { ...key, expiresAt: expiresAt?.toISOString() ?? null };
      return { body: answer, location: `/api/api-keys/${key.id}` };
    });
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Revoke an API key',
    access: allowSessions('keys.admin'),
    sensitive: true,
    status: 204,
    errors: ['not_found'],
  })
  revoke(@Mutation() mutation: MutationRequest, @Param() { id }: ApiKeyParams): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await revokeApiKey(tx, caller, id);
      return { body: undefined };
    });
  }
}

function presentApiKey(key: ApiKeyEntity): ApiKey {
  return {
    id: key.id,
    name: key.name,
    scope: key.scope,
    agentId: key.agentId,
    expiresAt: key.expiresAt?.toISOString() ?? null,
    createdAt: key.createdAt.toISOString(),
    lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
    lastUsedFrom: key.lastUsedFrom,
    role: key.role,
    ipAllow: key.ipAllow,
  };
}
