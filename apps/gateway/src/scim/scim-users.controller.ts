import { randomBytes } from 'node:crypto';
import { Body, Controller, Delete, Get, Header, Inject, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createScimUser,
  deleteScimUser,
  Endpoint,
  findScimUser,
  listScimUsers,
  parseScimFilter,
  Passwords,
  parseUserBody,
  parseUserPatch,
  scim,
  ScimCaller,
  type ScimClient,
  scimContentType,
  SetLocation,
  SignInConfig,
  toScimError,
  updateScimUser,
  userFilters,
} from '@muster/access';
import { ScimListQuery, ScimPatchBody, ScimReadQuery, ScimUser, ScimUserBody, ScimUserList } from '@muster/contracts';
import { Database } from '@muster/database';
import { buildList, getScimAddress, presentUser, readPage, selectAttributes } from './present-scim';

/** Users of an organization as its identity provider manages them (RFC 7644). */
@ApiTags('SCIM')
@Controller('/api/scim/v2/Users')
export class ScimUsersController {
  private readonly base: string;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Passwords) private readonly passwords: Passwords,
    @Inject(SignInConfig) config: SignInConfig,
  ) {
    this.base = getScimAddress(config);
  }

  @Get()
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'List users with SCIM',
    description: 'Returns all users of the organization, except those that the identity provider has deleted.',
    access: scim,
    answer: ScimUserList,
    failsAs: toScimError,
  })
  async list(@ScimCaller() { organizationId }: ScimClient, @Query() query: ScimListQuery): Promise<ScimUserList> {
    const page = readPage(query);
    const filter = parseScimFilter(query.filter, userFilters);
    const { total, rows } = await listScimUsers(this.database, organizationId, { ...page, filter });
    return buildList(
      total,
      page,
      rows.map((row) => selectAttributes(presentUser(row, this.base), query)),
    );
  }

  @Post()
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Create a user with SCIM',
    description:
      'The user gets the role viewer until a group gives another one, and no password: the user signs in with single ' +
      'sign-on or sets a password with “Forgot your password?”.',
    access: scim,
    unsuspended: true,
    body: ScimUserBody,
    answer: ScimUser,
    status: 201,
    errors: ['conflict'],
    failsAs: toScimError,
  })
  async create(
    @ScimCaller() { organizationId }: ScimClient,
    @SetLocation() setLocation: (url: string) => void,
    @Body() body: ScimUserBody,
  ): Promise<ScimUser> {
    const change = parseUserBody(body);
    const password = randomBytes(32).toString('base64url');
    const passwordHash = await this.passwords.hashNewPassword(password, { email: change.userName });
    const row = await this.database.transaction({ organizationId }, (tx) =>
      createScimUser(tx, organizationId, { change, passwordHash }),
    );
    const created = presentUser(row, this.base);
    setLocation(created.meta!.location);
    return created;
  }

  @Get('/:user')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Get a user with SCIM',
    access: scim,
    answer: ScimUser,
    errors: ['not_found'],
    failsAs: toScimError,
  })
  async read(
    @ScimCaller() { organizationId }: ScimClient,
    @Param('user') id: string,
    @Query() query: ScimReadQuery,
  ): Promise<ScimUser> {
    return selectAttributes(presentUser(await findScimUser(this.database, organizationId, id), this.base), query);
  }

  @Put('/:user')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Replace a user with SCIM',
    description: 'Attributes that the body leaves out are removed, except `active`, which stays. The role stays too.',
    access: scim,
    body: ScimUserBody,
    answer: ScimUser,
    errors: ['not_found', 'permission_denied', 'conflict'],
    failsAs: toScimError,
  })
  replace(
    @ScimCaller() { organizationId }: ScimClient,
    @Param('user') id: string,
    @Body() body: ScimUserBody,
  ): Promise<ScimUser> {
    return this.save(organizationId, id, parseUserBody(body));
  }

  @Patch('/:user')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Change a user with SCIM',
    description:
      '`active` false disables the user: sessions end within a second, and API keys of the user are revoked. ' +
      'Attributes that the service does not store are ignored.',
    access: scim,
    body: ScimPatchBody,
    answer: ScimUser,
    errors: ['not_found', 'permission_denied', 'conflict'],
    failsAs: toScimError,
  })
  change(
    @ScimCaller() { organizationId }: ScimClient,
    @Param('user') id: string,
    @Body() { Operations }: ScimPatchBody,
  ): Promise<ScimUser> {
    return this.save(organizationId, id, parseUserPatch(Operations));
  }

  @Delete('/:user')
  @Endpoint({
    summary: 'Delete a user with SCIM',
    description:
      'Disables the account and hides it from the identity provider. The account itself stays, because other records ' +
      'refer to it.',
    access: scim,
    status: 204,
    errors: ['not_found', 'permission_denied', 'conflict'],
    failsAs: toScimError,
  })
  async delete(@ScimCaller() { organizationId }: ScimClient, @Param('user') id: string): Promise<void> {
    await this.database.transaction({ organizationId }, (tx) => deleteScimUser(tx, organizationId, id));
  }

  private async save(
    organizationId: string,
    id: string,
    change: Parameters<typeof updateScimUser>[2]['change'],
  ): Promise<ScimUser> {
    const row = await this.database.transaction({ organizationId }, (tx) =>
      updateScimUser(tx, organizationId, { id, change }),
    );
    return presentUser(row, this.base);
  }
}
