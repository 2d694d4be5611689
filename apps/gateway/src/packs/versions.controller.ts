import { Readable } from 'node:stream';
import { Body, Controller, Get, Inject, Param, Post, Query, StreamableFile } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import {
  PackVersion,
  PackVersionList,
  PageQuery,
  PromoteVersionBody,
  PublishVersionBody,
  VersionDiff,
  VersionDiffQuery,
} from '@muster/contracts';
import { Database } from '@muster/database';
import {
  compareVersions,
  exportVersion,
  findPack,
  listVersions,
  presentVersion,
  promoteVersion,
  publishVersion,
} from '@muster/packs';
import { parsePage, buildPage } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';

@ApiTags('Workflow packs')
@Controller('/api/workflow-packs/:id/versions')
export class VersionsController {
  constructor(
    @Inject(Database) readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) readonly storage: ObjectStorage,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List a pack’s versions, newest first',
    access: allowSessions('packs.read'),
    answer: PackVersionList,
    errors: ['not_found'],
  })
  async list(
    @OrganizationId() organizationId: string,
    @Param('id') packId: string,
    @Query() query: PageQuery,
  ): Promise<PackVersionList> {
    const page = parsePage(query, 'integer');
    await findPack(this.database, organizationId, packId);
    const rows = await listVersions(this.database, organizationId, { packId, page });
    const { items, nextCursor } = buildPage(rows, page, ({ number }) => [String(number)]);
    return { versions: items.map(presentVersion), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Publish the draft as a version',
    access: allowSessions('packs.write'),
    body: PublishVersionBody,
    answer: PackVersion,
    status: 201,
    errors: ['not_found', 'draft_to_publish_missing', 'draft_already_published'],
    idempotent: true,
  })
  publish(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() body: PublishVersionBody,
  ): Promise<PackVersion> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const version = await publishVersion(tx, caller, id, body);
      return { body: presentVersion(version), location: `/api/workflow-packs/${id}/versions` };
    });
  }

  @Post('/:versionId/promote')
  @Endpoint({
    summary: 'Change the stage of a version',
    description:
      'Allowed moves: draft → internal_verified, archived; internal_verified → pilot, draft, archived; pilot → ' +
      'production, internal_verified, archived; production → deprecated, pilot; deprecated → production, archived. ' +
      'Moving a version to production, deprecated or archived also requires the permission packs.release.',
    access: allowSessions('packs.write'),
    body: PromoteVersionBody,
    answer: PackVersion,
    errors: ['not_found', 'stage_transition_not_allowed', 'stage_in_use'],
  })
  promote(
    @Mutation() mutation: MutationRequest,
    @Param('id') packId: string,
    @Param('versionId') versionId: string,
    @Body() body: PromoteVersionBody,
  ): Promise<PackVersion> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: presentVersion(await promoteVersion(tx, caller, { packId, versionId }, body)),
    }));
  }

  @Get('/:versionId/diff')
  @Endpoint({
    summary: 'Compare two versions of a pack',
    description: 'Contains the files that were added, removed or changed between the version `from` and this version.',
    access: allowSessions('packs.read'),
    answer: VersionDiff,
    errors: ['not_found'],
  })
  diff(
    @OrganizationId() organizationId: string,
    @Param('id') packId: string,
    @Param('versionId') versionId: string,
    @Query() { from }: VersionDiffQuery,
  ): Promise<VersionDiff> {
    return compareVersions(this, organizationId, { packId, versionId, from });
  }

  @Get('/:versionId/export')
  @Endpoint<StreamableFile>({
    summary: 'Export a version with its bundle',
    description:
      'The response is a zip of manifest.json and bundle.zip, which POST /api/workflow-packs/{id}/import accepts.',
    access: allowSessions('packs.read'),
    zip: true,
    errors: ['not_found'],
    waits: true,
  })
  async export(
    @OrganizationId() organizationId: string,
    @Param('id') packId: string,
    @Param('versionId') versionId: string,
  ): Promise<StreamableFile> {
    const { filename, bytes } = await exportVersion(this, organizationId, { packId, versionId });
    const disposition = `attachment; filename="${filename}"`;
    return new StreamableFile(Readable.from(bytes), { type: 'application/zip', disposition });
  }
}
