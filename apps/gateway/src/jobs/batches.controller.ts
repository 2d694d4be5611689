import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessionsAndKeys } from '@muster/access';
import {
  Batch,
  BatchList,
  BatchQuery,
  CancelBatchBody,
  CheckBatchBody,
  CheckBatchForm,
  CheckedBatch,
  CreateBatchBody,
  CreateBatchForm,
  CreatedBatch,
  maxBatchBytes,
} from '@muster/contracts';
import { Database, getPositionValues } from '@muster/database';
import {
  checkRowsOfBatch,
  findBatch,
  launchBatch,
  getBatchSortKinds,
  listBatches,
  presentBatch,
  requestBatchCancel,
} from '@muster/jobs';
import { Clock, FormOrJson, Given, parsePage, buildPage } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { parseBatchRequest, parseBatchForCheck } from './parse-batch-request';

@ApiTags('Batches')
@Controller()
export class BatchesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Post('/api/jobs/batch')
  @Endpoint({
    summary: 'Queue a run for each row of a table',
    description:
      'Send the rows as JSON, or as a CSV file in a form. The runs are distributed evenly over the agents. An ' +
      'invalid row is rejected with its errors, and the other rows are queued. With `strict` true, one invalid row ' +
      'rejects the whole batch.',
    access: allowSessionsAndKeys('runs.write'),
    unsuspended: true,
    body: CreateBatchBody,
    form: CreateBatchForm,
    bodyLimit: maxBatchBytes,
    answer: CreatedBatch,
    status: 202,
    errors: [
      ...(['not_found', 'agent_not_found', 'no_agent_fits', 'nothing_to_run', 'no_pinned_version'] as const),
      'billing_gate_closed',
    ],
    idempotent: true,
  })
  async create(@Mutation() mutation: MutationRequest, @Given() body: FormOrJson): Promise<CreatedBatch> {
    const { input, rows } = await parseBatchRequest(body);
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const launched = await launchBatch(tx, caller, {
        ...{ input, rows, now: this.clock.now(), keyRing: this.keyRing },
      });
      return { body: launched, location: `/api/batches/${launched.batchId}` };
    });
  }

  @Post('/api/jobs/batch/check')
  @Endpoint({
    summary: 'Check the rows of a table',
    description:
      'Returns the errors of each invalid row and queues nothing. The body is that of POST /api/jobs/batch, but ' +
      '`agentIds` is optional.',
    access: allowSessionsAndKeys('runs.write'),
    body: CheckBatchBody,
    form: CheckBatchForm,
    bodyLimit: maxBatchBytes,
    answer: CheckedBatch,
    errors: ['not_found', 'agent_not_found', 'no_agent_fits', 'nothing_to_run'],
  })
  async check(@OrganizationId() organizationId: string, @Given() body: FormOrJson): Promise<CheckedBatch> {
    const { input, rows } = await parseBatchForCheck(body);
    return this.database.transaction({ organizationId }, (tx) =>
      checkRowsOfBatch(tx, organizationId, { input, rows, now: this.clock.now() }),
    );
  }

  @Get('/api/batches')
  @Endpoint({
    summary: 'List batches, newest first',
    access: allowSessionsAndKeys('runs.read'),
    answer: BatchList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: BatchQuery): Promise<BatchList> {
    const page = parsePage(query, ...getBatchSortKinds(query.sort));
    const rows = await listBatches(this.database, organizationId, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, getPositionValues);
    return { batches: items.map(presentBatch), nextCursor };
  }

  @Get('/api/batches/:id')
  @Endpoint({
    summary: 'Read a batch and its progress',
    description: 'To list the runs of the batch, use GET /api/jobs?batchId=<id>.',
    access: allowSessionsAndKeys('runs.read'),
    answer: Batch,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<Batch> {
    return presentBatch(await findBatch(this.database, organizationId, id));
  }

  @Post('/api/batches/:id/cancel')
  @Endpoint({
    summary: 'Cancel the runs of a batch that have not ended',
    description:
      'After this request, no further run of the batch starts. Runs that have not started are cancelled, and the ' +
      'agents of started runs are instructed to stop them. For a large batch this takes some time; read the batch ' +
      'to see the progress.',
    access: allowSessionsAndKeys('runs.write'),
    body: CancelBatchBody,
    answer: Batch,
    status: 202,
    errors: ['not_found'],
  })
  async cancel(
    @Mutation() mutation: MutationRequest,
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Body() { reason }: CancelBatchBody,
  ): Promise<Batch> {
    await this.mutations.runMutation(mutation, async (tx, caller) => {
      await requestBatchCancel(tx, caller, id, { reason });
      return { body: undefined, location: `/api/batches/${id}` };
    });
    return this.read(organizationId, id);
  }
}
