import { Controller, Delete, Get, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  allowSessions,
  createScimToken,
  deleteScimToken,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  readScimToken,
  SignInConfig,
} from '@muster/access';
import { NewScimToken, Scim } from '@muster/contracts';
import { Database } from '@muster/database';
import { getScimAddress } from '../scim/present-scim';

@ApiTags('Organization')
@Controller('/api/organization')
export class ScimTokenController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  @Get('/scim')
  @Endpoint({
    summary: 'Get the state of user provisioning (SCIM)',
    description: 'The token itself is never returned.',
    access: allowSessions('settings.admin'),
    answer: Scim,
  })
  async read(@OrganizationId() organizationId: string): Promise<Scim> {
    const token = await readScimToken(this.database, organizationId);
    return {
      baseUrl: getScimAddress(this.config),
      token: token && {
        createdAt: token.createdAt.toISOString(),
        lastUsedAt: token.lastUsedAt?.toISOString() ?? null,
      },
    };
  }

  @Post('/scim-token')
  @Endpoint({
    summary: 'Create the token for user provisioning (SCIM)',
    description:
      'An identity provider with this token can create, change and disable users of the organization and set their ' +
      'roles, up to the permissions of the caller. A new token replaces the previous one, which ends at once.',
    access: allowSessions('settings.admin'),
    sensitive: true,
    answer: NewScimToken,
    status: 201,
  })
  create(@Mutation() mutation: MutationRequest): Promise<NewScimToken> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: { token: await createScimToken(tx, caller) },
    }));
  }

  @Delete('/scim-token')
  @Endpoint({
    summary: 'Delete the token for user provisioning (SCIM)',
    description: 'The identity provider can then no longer change users. The users and groups stay.',
    access: allowSessions('settings.admin'),
    sensitive: true,
    status: 204,
    errors: ['not_found'],
  })
  delete(@Mutation() mutation: MutationRequest): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteScimToken(tx, caller);
      return { body: undefined };
    });
  }
}
