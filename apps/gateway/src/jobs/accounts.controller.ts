import { Body, Controller, Delete, Get, Inject, Param, Patch, Put, Query } from '@nestjs/common';
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
  Account,
  AccountList,
  AccountQuery,
  AccountUseList,
  PageQuery,
  PutAccountBody,
  UpdateAccountBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { deleteAccount, listAccounts, listAccountUses, presentAccount, putAccount, updateAccount } from '@muster/jobs';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Accounts')
@Controller('/api/accounts')
export class AccountsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List accounts',
    description:
      'Lists the accounts by name. An account is a login at a portal that a run borrows from its start to its end. ' +
      'The list contains the names of the secrets of each account, never their values.',
    access: allowSessionsAndKeys('runs.read'),
    answer: AccountList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: AccountQuery): Promise<AccountList> {
    const page = parsePage(query, 'text');
    const rows = await listAccounts(this.database, organizationId, { page, pool: query.pool });
    const { items, nextCursor } = buildPage(rows, page, ({ name }) => [name]);
    return { accounts: items.map(presentAccount), nextCursor };
  }

  @Put('/:name')
  @Endpoint({
    summary: 'Create or replace an account',
    description:
      'A run that requests an account of a pool gets the free account that was unused longest. An account that a ' +
      'run reported as unusable stays set aside.',
    access: allowSessions('vault.write'),
    sensitive: true,
    body: PutAccountBody,
    answer: Account,
  })
  put(
    @Mutation() mutation: MutationRequest,
    @Param('name') name: string,
    @Body() body: PutAccountBody,
  ): Promise<Account> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: presentAccount(await putAccount(tx, caller, name, body)),
    }));
  }

  @Patch('/:name')
  @Endpoint({
    summary: 'Change an account',
    description: 'If `enabled` is true, runs can use an account again that a run reported as unusable.',
    access: allowSessions('vault.write'),
    sensitive: true,
    body: UpdateAccountBody,
    answer: Account,
    errors: ['not_found'],
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('name') name: string,
    @Body() body: UpdateAccountBody,
  ): Promise<Account> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: presentAccount(await updateAccount(tx, caller, name, body)),
    }));
  }

  @Delete('/:name')
  @Endpoint({
    summary: 'Delete an account',
    description:
      'A run that has the account now keeps it until the run ends. The earlier uses of the account are still listed.',
    access: allowSessions('vault.write'),
    sensitive: true,
    status: 204,
    errors: ['not_found'],
  })
  delete(@Mutation() mutation: MutationRequest, @Param('name') name: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteAccount(tx, caller, name);
      return { body: undefined };
    });
  }

  @Get('/:name/uses')
  @Endpoint({
    summary: 'List the runs that have or had an account',
    description: 'The newest use comes first. The uses of a deleted account are still listed.',
    access: allowSessionsAndKeys('runs.read'),
    answer: AccountUseList,
    errors: ['invalid_payload', 'not_found'],
  })
  async uses(
    @OrganizationId() organizationId: string,
    @Param('name') name: string,
    @Query() query: PageQuery,
  ): Promise<AccountUseList> {
    const page = parsePage(query, 'time', 'id');
    const rows = await listAccountUses(this.database, organizationId, { name, page });
    const { items, nextCursor } = buildPage(rows, page, ({ since, jobId }) => [since.toISOString(), jobId]);
    const uses = items.map(({ jobId, agentId, since, until }) => ({
      jobId,
      agentId,
      from: since.toISOString(),
      to: until?.toISOString() ?? null,
    }));
    return { uses, nextCursor };
  }
}
