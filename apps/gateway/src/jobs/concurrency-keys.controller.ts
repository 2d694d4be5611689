import { Body, Controller, Delete, Get, Inject, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import {
  ConcurrencyKeyList,
  ConcurrencyKeyQuery,
  ConcurrencyLimit,
  KeyHolderList,
  SearchQuery,
  SetConcurrencyLimitBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { deleteConcurrencyLimit, listConcurrencyKeys, listKeyHolders, setConcurrencyLimit } from '@muster/jobs';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Concurrency keys')
@Controller('/api/concurrency-keys')
export class ConcurrencyKeysController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List concurrency keys',
    description:
      'Contains the keys that runs hold or wait for, and the keys for which the organization has set a limit.',
    access: allowSessionsAndKeys('runs.read'),
    answer: ConcurrencyKeyList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<ConcurrencyKeyList> {
    const page = parsePage(query, 'text');
    const rows = await listConcurrencyKeys(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ key }) => [key]);
    const concurrencyKeys = items.map(({ oldestWaitingSince, ...row }) => ({
      ...row,
      paused: row.limit === 0,
      oldestWaitingSince: oldestWaitingSince?.toISOString() ?? null,
    }));
    return { concurrencyKeys, nextCursor };
  }

  @Get('/holders')
  @Endpoint({
    summary: 'List the runs that hold a concurrency key',
    description: 'Returns at most 1,000 runs. The run that has held the key longest comes first.',
    access: allowSessionsAndKeys('runs.read'),
    answer: KeyHolderList,
    errors: ['invalid_payload'],
  })
  async holders(@OrganizationId() organizationId: string, @Query() query: ConcurrencyKeyQuery): Promise<KeyHolderList> {
    const rows = await listKeyHolders(this.database, organizationId, query.key);
    return { holders: rows.map((row) => ({ ...row, since: row.since.toISOString() })) };
  }

  @Put()
  @Endpoint({
    summary: 'Set the organization’s limit for a concurrency key',
    description:
      'If a key has several limits, the smallest one applies. With limit 0, no run that needs the key starts; runs ' +
      'that already hold it continue.',
    access: allowSessions('settings.admin'),
    body: SetConcurrencyLimitBody,
    answer: ConcurrencyLimit,
  })
  set(@Mutation() mutation: MutationRequest, @Body() body: SetConcurrencyLimitBody): Promise<ConcurrencyLimit> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await setConcurrencyLimit(tx, caller, body);
      return { body: { key: body.key, limit: body.limit, paused: body.limit === 0 } };
    });
  }

  @Delete()
  @Endpoint({
    summary: 'Remove the organization’s limit for a concurrency key',
    access: allowSessions('settings.admin'),
    status: 204,
    errors: ['invalid_payload', 'not_found'],
  })
  delete(@Mutation() mutation: MutationRequest, @Query() query: ConcurrencyKeyQuery): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteConcurrencyLimit(tx, caller, query.key);
      return { body: undefined };
    });
  }
}
