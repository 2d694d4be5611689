import { Body, Controller, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, IfMatch, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import { EnsurePackBody, SearchQuery, UpdatePackBody, WorkflowPack, WorkflowPackList } from '@muster/contracts';
import { Database } from '@muster/database';
import {
  ensurePack,
  findPack,
  listBundles,
  listInstallations,
  listPacks,
  listVersions,
  type PackRow,
  presentPackBundle,
  presentInstallation,
  presentPackBase,
  presentPackSummary,
  presentVersion,
  updatePack,
} from '@muster/packs';
import { toEtag, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';

const newest = { limit: 200, after: null };

@ApiTags('Workflow packs')
@Controller('/api/workflow-packs')
export class PacksController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({ summary: 'List workflow packs', access: allowSessions('packs.read'), answer: WorkflowPackList })
  async list(@OrganizationId() organizationId: string, @Query() query: SearchQuery): Promise<WorkflowPackList> {
    const page = parsePage(query, 'id');
    const rows = await listPacks(this.database, organizationId, { page, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { packs: items.map(presentPackSummary), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create or read the pack of a process',
    description: 'If the process has a pack already, the response is 200 with that pack, unchanged.',
    access: allowSessions('packs.write'),
    body: EnsurePackBody,
    answer: WorkflowPack,
    status: 201,
    otherwise: { status: 200, description: 'The pack exists already and was not changed.', answer: WorkflowPack },
    etag: 'read',
    errors: ['process_not_found'],
  })
  async ensure(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Body() body: EnsurePackBody,
  ): Promise<WorkflowPack> {
    const { id } = await this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const { pack, isNew } = await ensurePack(tx, caller, body);
        const { id: packId, version } = pack;
        const location = `/api/workflow-packs/${packId}`;
        return { body: { id: packId }, status: isNew ? 201 : 200, etag: toEtag(version), location };
      },
      { unaudited: 'an existing pack is not changed' },
    );
    return this.presentPack(organizationId, await findPack(this.database, organizationId, id));
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a pack with its versions, installations and bundles',
    description: 'Contains at most the 200 newest versions, installations and bundles.',
    access: allowSessions('packs.read'),
    answer: WorkflowPack,
    errors: ['not_found'],
    etag: 'read',
  })
  async read(
    @Reply() reply: ReplyHead,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
  ): Promise<WorkflowPack> {
    const pack = await findPack(this.database, organizationId, id);
    reply.setEtag(pack.version);
    return this.presentPack(organizationId, pack);
  }

  @Patch('/:id')
  @Endpoint({
    summary: 'Change a pack’s name, description or stage tags',
    access: allowSessions('packs.write'),
    body: UpdatePackBody,
    answer: WorkflowPack,
    errors: ['not_found'],
    etag: 'change',
  })
  async update(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Body() change: UpdatePackBody,
    @IfMatch() ifMatch?: string,
  ): Promise<WorkflowPack> {
    const pack = await this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await updatePack(tx, caller, id, { change, ifMatch });
      return { body: row, etag: toEtag(row.version) };
    });
    return this.presentPack(organizationId, pack);
  }

  private async presentPack(organizationId: string, pack: PackRow): Promise<WorkflowPack> {
    const { id: packId } = pack;
    const [versions, installations, bundles] = await Promise.all([
      listVersions(this.database, organizationId, { packId, page: newest }),
      listInstallations(this.database, organizationId, { packId, page: newest }),
      listBundles(this.database, organizationId, packId),
    ]);
    return {
      ...presentPackBase(pack),
      // Each of the three lists is read with one row more than its limit. If that row exists, the list has more rows.
      versions: versions.slice(0, newest.limit).map(presentVersion),
      installations: installations.slice(0, newest.limit).map(presentInstallation),
      runtimeBundles: bundles.map((row) => presentPackBundle(organizationId, row)),
    };
  }
}
