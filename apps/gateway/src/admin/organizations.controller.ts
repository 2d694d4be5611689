import { Body, Controller, Delete, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createOrganization,
  Endpoint,
  findOrganization,
  listOrganizations,
  type OrganizationRow,
  Mutation,
  MutationRequest,
  Mutations,
  Passwords,
  allowSessions,
  updateOrganization,
} from '@muster/access';
import {
  CreatedOrganization,
  CreateOrganizationBody,
  listPermissions,
  Organization,
  OrganizationList,
  SearchQuery,
  UpdateOrganizationBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';

/** Manages all organizations. Only super_admins may use it, and its transactions run in the system scope. */
@ApiTags('Administration')
@Controller('/api/admin/organizations')
export class OrganizationsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Passwords) private readonly passwords: Passwords,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List organizations',
    access: allowSessions('platform.admin'),
    answer: OrganizationList,
    errors: ['invalid_payload'],
  })
  async list(@Query() query: SearchQuery): Promise<OrganizationList> {
    const page = parsePage(query, 'id');
    const rows = await listOrganizations(this.database, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { organizations: items.map(presentOrganization), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create an organization and its admin',
    access: allowSessions('platform.admin'),
    body: CreateOrganizationBody,
    answer: CreatedOrganization,
    status: 201,
    errors: ['conflict'],
    idempotent: true,
  })
  async create(
    @Mutation() mutation: MutationRequest,
    @Body() { name, adminEmail, adminPassword }: CreateOrganizationBody,
  ): Promise<CreatedOrganization> {
    const adminPasswordHash = await this.passwords.hashNewPassword(adminPassword, {
      email: adminEmail,
      field: 'adminPassword',
    });
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const { organization, admin } = await createOrganization(tx, caller, { name, adminEmail, adminPasswordHash });
        const answer: CreatedOrganization = {
          organization: presentOrganization(organization),
          admin: {
            ...{ id: admin.id, email: admin.email, role: admin.role },
            permissions: [...listPermissions(admin)],
          },
        };
        return { body: answer, location: `/api/admin/organizations/${organization.id}` };
      },
      { scope: 'system' },
    );
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read an organization',
    access: allowSessions('platform.admin'),
    answer: Organization,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@Param('id') id: string): Promise<Organization> {
    return presentOrganization(await findOrganization(this.database, id));
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Rename, suspend or resume an organization, or set its email domains',
    description:
      'A suspended organization can read everything but cannot start anything new. `domains` replaces the proved email ' +
      'domains, for which the organization can use single sign-on.',
    access: allowSessions('platform.admin'),
    body: UpdateOrganizationBody,
    answer: Organization,
    errors: ['not_found', 'conflict'],
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: UpdateOrganizationBody,
  ): Promise<Organization> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => ({ body: presentOrganization(await updateOrganization(tx, caller, id, body)) }),
      { scope: 'system' },
    );
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Suspend an organization',
    description: 'Deletes nothing. The audit trail and the billing records of the organization are kept.',
    access: allowSessions('platform.admin'),
    status: 204,
    errors: ['invalid_payload', 'not_found'],
  })
  suspend(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        await updateOrganization(tx, caller, id, { suspended: true });
        return { body: undefined };
      },
      { scope: 'system' },
    );
  }
}

function presentOrganization({ id, name, suspended, domains, createdAt }: OrganizationRow): Organization {
  return { id, name, suspended, domains, createdAt: createdAt.toISOString() };
}
