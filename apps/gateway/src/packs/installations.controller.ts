import { Body, Controller, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, IfMatch, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import {
  CreateInstallationBody,
  InstallationHistory,
  InstallationQuery,
  PackInstallation,
  PackInstallationList,
  PageQuery,
  PinBody,
  RollbackAnswer,
  RollbackBody,
  UpdateInstallationBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import {
  createInstallation,
  findInstallation,
  type InstallationMoveRow,
  type InstallationRow,
  listInstallations,
  listInstallationMoves,
  pinInstallation,
  presentInstallation,
  rollBackInstallation,
  updateInstallation,
} from '@muster/packs';
import { toEtag, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';

@ApiTags('Workflow packs')
@Controller('/api/workflow-pack-installations')
export class InstallationsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List installations, newest first',
    access: allowSessions('packs.read'),
    answer: PackInstallationList,
  })
  async list(
    @OrganizationId() organizationId: string,
    @Query() query: InstallationQuery,
  ): Promise<PackInstallationList> {
    const page = parsePage(query, 'id');
    const rows = await listInstallations(this.database, organizationId, { page, packId: query.packId });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { installations: items.map(presentInstallation), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Install a pack',
    access: allowSessions('packs.write'),
    body: CreateInstallationBody,
    answer: PackInstallation,
    status: 201,
    errors: ['not_found', 'conflict', 'version_not_installable'],
    idempotent: true,
    etag: 'read',
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateInstallationBody): Promise<PackInstallation> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await createInstallation(tx, caller, body);
      return { ...presentWithEtag(row), location: `/api/workflow-pack-installations/${row.id}` };
    });
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read an installation',
    access: allowSessions('packs.read'),
    answer: PackInstallation,
    errors: ['not_found'],
    etag: 'read',
  })
  async read(
    @Reply() reply: ReplyHead,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
  ): Promise<PackInstallation> {
    const row = await findInstallation(this.database, organizationId, id);
    reply.setEtag(row.version);
    return presentInstallation(row);
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change an installation’s name or metadata',
    access: allowSessions('packs.write'),
    body: UpdateInstallationBody,
    answer: PackInstallation,
    errors: ['not_found', 'conflict'],
    etag: 'change',
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() change: UpdateInstallationBody,
    @IfMatch() ifMatch?: string,
  ): Promise<PackInstallation> {
    return this.mutations.runMutation(mutation, async (tx, caller) =>
      presentWithEtag(await updateInstallation(tx, caller, id, { change, ifMatch })),
    );
  }

  @Post('/:id/pin')
  @Endpoint({
    summary: 'Pin an installation to a version',
    description:
      'Jobs that are launched from now on run this version. Jobs that are already queued keep the version that they ' +
      'were launched with.',
    access: allowSessions('packs.write'),
    body: PinBody,
    answer: PackInstallation,
    errors: ['not_found', 'version_not_installable'],
    etag: 'change',
  })
  pin(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: PinBody,
    @IfMatch() ifMatch?: string,
  ): Promise<PackInstallation> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => presentWithEtag(await pinInstallation(tx, caller, id, { ...body, ifMatch })),
      { unaudited: 'pinning the pinned version changes nothing' },
    );
  }

  @Post('/:id/rollback')
  @Endpoint({
    summary: 'Swap the pinned version with the previous one',
    access: allowSessions('packs.write'),
    body: RollbackBody,
    answer: RollbackAnswer,
    errors: ['not_found', 'no_previous_version', 'version_not_installable'],
    etag: 'change',
  })
  rollBack(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: RollbackBody,
    @IfMatch() ifMatch?: string,
  ): Promise<RollbackAnswer> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const { installation, queuedJobs } = await rollBackInstallation(tx, caller, id, { ...body, ifMatch });
      const { body: shown, etag } = presentWithEtag(installation);
      return { body: { installation: shown, queuedJobs }, etag };
    });
  }

  @Get('/:id/history')
  @Endpoint({
    summary: 'List the versions to which an installation was pinned, newest first',
    access: allowSessions('packs.read'),
    answer: InstallationHistory,
    errors: ['not_found'],
  })
  async history(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Query() query: PageQuery,
  ): Promise<InstallationHistory> {
    const page = parsePage(query, 'id');
    const rows = await listInstallationMoves(this.database, organizationId, { id, page });
    const { items, nextCursor } = buildPage(rows, page, (row) => [row.id]);
    return { history: items.map(presentInstallationMove), nextCursor };
  }
}

function presentWithEtag(row: InstallationRow) {
  return { body: presentInstallation(row), etag: toEtag(row.version) };
}

function presentInstallationMove({
  action,
  fromVersionId,
  toVersionId,
  movedBy,
  reason,
  movedAt,
}: InstallationMoveRow) {
  return { at: movedAt.toISOString(), by: movedBy, action, from: fromVersionId, to: toVersionId, reason };
}
