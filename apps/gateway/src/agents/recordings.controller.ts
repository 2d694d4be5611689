import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { findRecording, listRecordings } from '@muster/commands';
import { RecordingDetail, RecordingList, RecordingQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { Clock, parsePage, buildPage } from '@muster/platform';
import { ObjectStorage, presignDownload } from '@muster/storage';
import { presentRecording } from './present-recording';

@ApiTags('Agents')
@Controller()
export class RecordingsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get('/api/agents/:id/recordings')
  @Endpoint({
    summary: 'List an agent’s recordings, newest first',
    access: allowSessionsAndKeys('runs.read'),
    answer: RecordingList,
    errors: ['invalid_payload', 'agent_not_found'],
  })
  async list(
    @OrganizationId() organizationId: string,
    @Param('id') agentId: string,
    @Query() query: RecordingQuery,
  ): Promise<RecordingList> {
    const page = parsePage(query, 'id');
    const agentRef = { organizationId: organizationId, agentId };
    const rows = await listRecordings(this.database, agentRef, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { recordings: items.map(presentRecording), nextCursor };
  }

  @Get('/api/recordings/:id')
  @Endpoint({
    summary: 'Read a recording',
    description: 'Contains a download URL that is valid for an hour. The URL is null until the recording is stored.',
    reads: 'recording',
    access: allowSessionsAndKeys('runs.read'),
    answer: RecordingDetail,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<RecordingDetail> {
    const row = await findRecording(this.database, organizationId, id);
    const { storageKey } = row;
    const file = storageKey === null ? null : { storageKey };
    return { ...presentRecording(row), ...(await presignDownload(this.storage, file, this.clock.now())) };
  }
}
