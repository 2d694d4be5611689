import { Body, Controller, Delete, Get, Header, Inject, Param, Patch, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  createScimGroup,
  deleteScimGroup,
  Endpoint,
  findScimGroup,
  groupFilters,
  listScimGroups,
  parseScimFilter,
  parseGroupBody,
  parseGroupPatch,
  scim,
  ScimCaller,
  type ScimClient,
  scimContentType,
  SetLocation,
  SignInConfig,
  toScimError,
  updateScimGroup,
} from '@muster/access';
import {
  ScimGroup,
  ScimGroupBody,
  ScimGroupList,
  ScimListQuery,
  ScimPatchBody,
  ScimReadQuery,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { buildList, excludesMembers, getScimAddress, presentGroup, readPage, selectAttributes } from './present-scim';

/** Groups of an identity provider, which assign roles to their members (RFC 7644). */
@ApiTags('SCIM')
@Controller('/api/scim/v2/Groups')
export class ScimGroupsController {
  private readonly base: string;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SignInConfig) config: SignInConfig,
  ) {
    this.base = getScimAddress(config);
  }

  @Get()
  @Header('content-type', scimContentType)
  @Endpoint({ summary: 'List groups with SCIM', access: scim, answer: ScimGroupList, failsAs: toScimError })
  async list(@ScimCaller() { organizationId }: ScimClient, @Query() query: ScimListQuery): Promise<ScimGroupList> {
    const page = readPage(query);
    const filter = parseScimFilter(query.filter, groupFilters);
    const bare = excludesMembers(query);
    const { total, rows } = await listScimGroups(this.database, organizationId, { ...page, filter, bare });
    return buildList(
      total,
      page,
      rows.map((row) => selectAttributes(presentGroup(row, this.base), query)),
    );
  }

  @Post()
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Create a group with SCIM',
    description:
      'Members get the role that `roleMap` of single sign-on names for the group, otherwise the role with the name of ' +
      'the group. The role with the most permissions counts; a member without any is a viewer.',
    access: scim,
    body: ScimGroupBody,
    answer: ScimGroup,
    status: 201,
    errors: ['conflict'],
    failsAs: toScimError,
  })
  async create(
    @ScimCaller() { organizationId }: ScimClient,
    @SetLocation() setLocation: (url: string) => void,
    @Body() body: ScimGroupBody,
  ): Promise<ScimGroup> {
    const change = parseGroupBody(body);
    const row = await this.database.transaction({ organizationId }, (tx) =>
      createScimGroup(tx, organizationId, change),
    );
    const created = presentGroup(row, this.base);
    setLocation(created.meta!.location);
    return created;
  }

  @Get('/:group')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Get a group with SCIM',
    access: scim,
    answer: ScimGroup,
    errors: ['not_found'],
    failsAs: toScimError,
  })
  async read(
    @ScimCaller() { organizationId }: ScimClient,
    @Param('group') id: string,
    @Query() query: ScimReadQuery,
  ): Promise<ScimGroup> {
    return selectAttributes(presentGroup(await findScimGroup(this.database, organizationId, id), this.base), query);
  }

  @Put('/:group')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Replace a group with SCIM',
    description: 'The group then has exactly the members of the body.',
    access: scim,
    body: ScimGroupBody,
    answer: ScimGroup,
    errors: ['not_found', 'conflict'],
    failsAs: toScimError,
  })
  replace(
    @ScimCaller() { organizationId }: ScimClient,
    @Param('group') id: string,
    @Body() body: ScimGroupBody,
  ): Promise<ScimGroup> {
    return this.save(organizationId, id, parseGroupBody(body));
  }

  @Patch('/:group')
  @Header('content-type', scimContentType)
  @Endpoint({
    summary: 'Change a group with SCIM',
    description: 'Adds and removes members, replaces all members, or renames the group.',
    access: scim,
    body: ScimPatchBody,
    answer: ScimGroup,
    errors: ['not_found', 'conflict'],
    failsAs: toScimError,
  })
  change(
    @ScimCaller() { organizationId }: ScimClient,
    @Param('group') id: string,
    @Body() { Operations }: ScimPatchBody,
  ): Promise<ScimGroup> {
    return this.save(organizationId, id, parseGroupPatch(Operations));
  }

  @Delete('/:group')
  @Endpoint({
    summary: 'Delete a group with SCIM',
    description: 'The users stay, and lose the role that the group gave them.',
    access: scim,
    status: 204,
    errors: ['not_found'],
    failsAs: toScimError,
  })
  async delete(@ScimCaller() { organizationId }: ScimClient, @Param('group') id: string): Promise<void> {
    await this.database.transaction({ organizationId }, (tx) => deleteScimGroup(tx, organizationId, id));
  }

  private async save(
    organizationId: string,
    id: string,
    change: Parameters<typeof updateScimGroup>[2]['change'],
  ): Promise<ScimGroup> {
    const row = await this.database.transaction({ organizationId }, (tx) =>
      updateScimGroup(tx, organizationId, { id, change }),
    );
    return presentGroup(row, this.base);
  }
}
