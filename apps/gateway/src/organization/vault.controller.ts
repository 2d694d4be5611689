import { Body, Controller, Delete, Get, Inject, Param, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  deleteSecret,
  Endpoint,
  listSecrets,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  putSecret,
  allowSessions,
} from '@muster/access';
import { PutSecretBody, SearchQuery, Secret, SecretList } from '@muster/contracts';
import { Database, type VaultSecretEntity } from '@muster/database';
import { enqueueWaitingAgents, enableAccountsWithKey } from '@muster/jobs';
import { parsePage, buildPage } from '@muster/platform';
import { KeyRing } from '@muster/vault';

@ApiTags('Vault')
@Controller('/api/vault')
export class VaultController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List secrets',
    description: 'Contains the name, kind and dates of each secret, never its value.',
    access: allowSessions('vault.write'),
    answer: SecretList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<SecretList> {
    const page = parsePage(query, 'text');
    const rows = await listSecrets(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ key }) => [key]);
    return { secrets: items.map(presentSecret), nextCursor };
  }

  @Put('/:key')
  @Endpoint({
    summary: 'Set a secret',
    description:
      'A run that lists the key in its `vaultKeys` receives the value as an environment variable with the name of ' +
      'the key. Accounts that use the key and were set aside can be used again.',
    access: allowSessions('vault.write'),
    sensitive: true,
    body: PutSecretBody,
    answer: Secret,
  })
  put(@Mutation() mutation: MutationRequest, @Param('key') key: string, @Body() body: PutSecretBody): Promise<Secret> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const secret = await putSecret(tx, this.keyRing, caller, key, body);
      // An account that was set aside is enabled again, because its new secret may work.
      await enableAccountsWithKey(tx, caller, key);
      await enqueueWaitingAgents(tx, caller.organizationId);
      return { body: presentSecret(secret) };
    });
  }

  @Delete('/:key')
  @Endpoint({
    summary: 'Delete a secret',
    access: allowSessions('vault.write'),
    sensitive: true,
    status: 204,
    errors: ['not_found'],
  })
  delete(@Mutation() mutation: MutationRequest, @Param('key') key: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteSecret(tx, caller, key);
      return { body: undefined };
    });
  }
}

function presentSecret({ key, kind, createdAt, updatedAt }: VaultSecretEntity): Secret {
  return { key, kind, createdAt: createdAt.toISOString(), updatedAt: updatedAt.toISOString() };
}
