import { Body, Controller, Delete, Get, Inject, Param, Patch, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  allowSessions,
  createOwnRole,
  deleteOwnRole,
  Endpoint,
  listRoles,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  signedIn,
  updateOwnRole,
} from '@muster/access';
import { CreateOwnRoleBody, OwnRole, OwnRoleList, UpdateOwnRoleBody } from '@muster/contracts';
import { Database } from '@muster/database';

@ApiTags('Roles')
@Controller('/api/roles')
export class RolesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List roles with their permissions',
    description:
      'Lists the roles viewer, member, admin and super_admin, and then the organization’s own roles by name.',
    access: allowSessions(signedIn),
    answer: OwnRoleList,
  })
  async list(@OrganizationId() organizationId: string): Promise<OwnRoleList> {
    return { roles: await listRoles(this.database, organizationId) };
  }

  @Post()
  @Endpoint({
    summary: 'Create a role',
    description: 'You can give the role only permissions that you have yourself.',
    access: allowSessions('users.admin'),
    sensitive: true,
    body: CreateOwnRoleBody,
    answer: OwnRole,
    status: 201,
    errors: ['conflict'],
    idempotent: true,
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateOwnRoleBody): Promise<OwnRole> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: await createOwnRole(tx, caller, body),
      location: `/api/roles/${encodeURIComponent(body.name)}`,
    }));
  }

  @Patch('/:name')
  @Endpoint({
    summary: 'Change the permissions of a role',
    description:
      'The permissions apply to the next request of every user with the role. You can change only roles whose ' +
      'permissions you have yourself.',
    access: allowSessions('users.admin'),
    sensitive: true,
    body: UpdateOwnRoleBody,
    answer: OwnRole,
    errors: ['not_found'],
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('name') name: string,
    @Body() { permissions }: UpdateOwnRoleBody,
  ): Promise<OwnRole> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: await updateOwnRole(tx, caller, name, permissions),
    }));
  }

  @Delete('/:name')
  @Endpoint({
    summary: 'Delete a role',
    description: 'Users with the role need another role first. Open invitations to the role are deleted with it.',
    access: allowSessions('users.admin'),
    sensitive: true,
    status: 204,
    errors: ['not_found', 'conflict'],
  })
  delete(@Mutation() mutation: MutationRequest, @Param('name') name: string): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteOwnRole(tx, caller, name);
      return { body: undefined };
    });
  }
}
