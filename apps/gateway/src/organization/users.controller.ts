import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createUser,
  Endpoint,
  findUser,
  listUsers,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  Passwords,
  resetSecondFactor,
  allowSessions,
  updateUser,
  signedIn,
} from '@muster/access';
import { CreateUserBody, SearchQuery, UpdateUserBody, User, UserList } from '@muster/contracts';
import { Database, type UserEntity } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';

@ApiTags('Users')
@Controller('/api/users')
export class UsersController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Passwords) private readonly passwords: Passwords,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List the organization’s users',
    access: allowSessions(signedIn),
    answer: UserList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<UserList> {
    const page = parsePage(query, 'id');
    const rows = await listUsers(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { users: items.map(presentUser), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create a user',
    access: allowSessions('users.admin'),
    sensitive: true,
    unsuspended: true,
    body: CreateUserBody,
    answer: User,
    status: 201,
    errors: ['conflict'],
    idempotent: true,
  })
  async create(
    @Mutation() mutation: MutationRequest,
    @Body() { email, role, password }: CreateUserBody,
  ): Promise<User> {
    const passwordHash = await this.passwords.hashNewPassword(password, { email });
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const user = await createUser(tx, caller, { email, role, passwordHash });
      return { body: presentUser(user), location: `/api/users/${user.id}` };
    });
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a user',
    access: allowSessions(signedIn),
    answer: User,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<User> {
    return presentUser(await findUser(this.database, organizationId, id));
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change a user',
    description: 'A new password, or disabling the account, ends the user’s sessions and revokes the user’s API keys.',
    access: allowSessions('users.admin'),
    sensitive: true,
    body: UpdateUserBody,
    answer: User,
    errors: ['not_found', 'conflict'],
  })
  async update(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Body() { role, disabled, password, breakGlass }: UpdateUserBody,
  ): Promise<User> {
    const passwordHash =
      password === undefined
        ? undefined
        : await this.passwords.hashNewPassword(password, await findUser(this.database, organizationId, id));
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: presentUser(await updateUser(tx, caller, id, { role, disabled, passwordHash, breakGlass })),
    }));
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Disable a user',
    description:
      'The account is not deleted, because other records refer to it. PATCH with `disabled` false enables it again.',
    access: allowSessions('users.admin'),
    sensitive: true,
    status: 204,
    errors: ['invalid_payload', 'not_found', 'conflict'],
  })
  disable(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await updateUser(tx, caller, id, { disabled: true });
      return { body: undefined };
    });
  }

  @Delete('/:id/totp')
  @Endpoint({
    summary: 'Reset a user’s second factor',
    description:
      'Use it for a user who has lost the second factor. Removes the authenticator app, the recovery codes and the ' +
      'passkeys of the user, and ends the user’s sessions. The user then signs in with the password alone, or must ' +
      'set up a new second factor if the organization requires one.',
    access: allowSessions('users.admin'),
    sensitive: true,
    status: 204,
    errors: ['invalid_payload', 'not_found', 'conflict'],
  })
  resetSecondFactor(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await resetSecondFactor(tx, caller, id);
      return { body: undefined };
    });
  }
}

function presentUser(user: UserEntity): User {
  return {
    id: user.id,
    email: user.email,
    role: user.role,
    disabled: user.disabled,
    createdAt: user.createdAt.toISOString(),
    lastSignInAt: user.lastSignInAt?.toISOString() ?? null,
    secondFactorSince: user.secondFactorSince?.toISOString() ?? null,
    breakGlass: user.breakGlass,
  };
}
