import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { findArtifact, listArtifacts } from '@muster/commands';
import { ArtifactDetail, ArtifactList, ArtifactQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, parsePage, buildPage } from '@muster/platform';
import { ObjectStorage, presignDownload } from '@muster/storage';
import { presentArtifact } from './present-artifact';

@ApiTags('Agents')
@Controller('/api/artifacts')
export class ArtifactsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List the files that machines uploaded, newest first',
    description:
      'The files are screenshots, downloads and recordings. A file is listed as soon as a machine has requested an ' +
      'upload URL for it, even before it was uploaded.',
    access: allowSessionsAndKeys('runs.read'),
    answer: ArtifactList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: ArtifactQuery): Promise<ArtifactList> {
    const page = parsePage(query, 'id');
    const rows = await listArtifacts(this.database, organizationId, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { artifacts: items.map(presentArtifact), nextCursor };
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read an uploaded file’s entry',
    description: 'Contains a download URL that is valid for an hour, or null if the URL cannot be signed.',
    reads: 'artifact',
    access: allowSessionsAndKeys('runs.read'),
    answer: ArtifactDetail,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<ArtifactDetail> {
    const row = await findArtifact(this.database, organizationId, id);
    return { ...presentArtifact(row), ...(await presignDownload(this.storage, row, this.clock.now())) };
  }
}
