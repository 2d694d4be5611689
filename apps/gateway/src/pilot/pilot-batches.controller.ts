import { Controller, Get, Inject, Param, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import { PilotBatchDetail, PilotBatchList, PilotBatchParams, PilotBatchQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import { findPilotBatch, listPilotBatches } from '@muster/pilot';
import { parsePage, buildPage } from '@muster/platform';
import { presentPilotBatch, presentPilotBatchDetail } from './present-pilot-batch';

@ApiTags('Pilot')
@Controller('/api/pilot/batches')
export class PilotBatchesController {
  constructor(@Inject(Database) private readonly database: Database) {}

  @Get()
  @Endpoint({
    summary: 'List reported batches, latest first',
    description: 'A batch is a practice’s own summary of claims.',
    access: allowSessionsAndKeys('runs.read'),
    answer: PilotBatchList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: PilotBatchQuery): Promise<PilotBatchList> {
    const page = parsePage(query, 'time', 'id');
    const rows = await listPilotBatches(this.database, organizationId, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, ({ occurredAt, id }) => [occurredAt.toISOString(), id]);
    return { batches: items.map(presentPilotBatch), nextCursor };
  }

  @Get(':batchId')
  @Endpoint({
    summary: 'Read a reported batch',
    description:
      'Contains the claims and the stop events of the batch. A stop event records why and when the processing ' +
      'stopped.',
    reads: 'session',
    access: allowSessionsAndKeys('runs.read'),
    answer: PilotBatchDetail,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(
    @OrganizationId() organizationId: string,
    @Param() { batchId }: PilotBatchParams,
  ): Promise<PilotBatchDetail> {
    return presentPilotBatchDetail(await findPilotBatch(this.database, organizationId, batchId));
  }
}
