import { Body, Controller, Inject, Post } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, allowWorkersAndSessions } from '@muster/access';
import { AppError, maxSummaryBytes, RunSummaryAnswer, RunSummaryBody } from '@muster/contracts';
import { Database } from '@muster/database';
import { bookJobCost } from '@muster/jobs';
import { type IngestedBatch, ingestRunSummary, readRunSummary } from '@muster/pilot';
import { Reply, ReplyHead } from '@muster/platform';
import { toRunSummaryError } from './run-summary-failure';

@ApiTags('Callbacks')
@Controller('/api/pilot/run-summary')
export class RunSummaryController {
  constructor(@Inject(Database) private readonly database: Database) {}

  @Post()
  @Endpoint({
    summary: 'Report a practice’s summary of a batch',
    description:
      'A batch is identified by its id within the organization; sending it again replaces the stored summary. The ' +
      'body is wrapped in exactly one of three envelopes, which the schema lists, with keys in camelCase or in ' +
      'snake_case. Unknown keys are stored as metadata. A rejected body changes nothing, and the error’s `shape` ' +
      'describes it: its envelope, its keys and the number of its rows.',
    access: allowWorkersAndSessions('runs.write'),
    body: RunSummaryBody,
    bodyLimit: maxSummaryBytes,
    answer: RunSummaryAnswer,
    status: 201,
    errors: [
      'INVALID_RUN_SUMMARY_PAYLOAD',
      'MISSING_BATCH_ID',
      'JOB_NOT_FOUND',
      'conflict',
      'RUN_SUMMARY_REQUEST_FAILED',
      'run_summary_too_large',
      'run_summary_not_json',
      'DENTRIX_RUN_SUMMARY_INGEST_FAILED',
    ],
    failsAs: toRunSummaryError,
  })
  async ingest(
    @Reply() reply: ReplyHead,
    @Caller() caller: Principal,
    // The body is not validated by a class, because `readRunSummary` determines its envelope and the spelling of its
    // keys.
    @Body() body: unknown,
  ): Promise<RunSummaryAnswer> {
    if (body === undefined)
      throw new AppError('RUN_SUMMARY_REQUEST_FAILED', { detail: 'The request has no body. Send a JSON object.' });
    const summary = await readRunSummary(body);
    const { organizationId } = caller;
    const batch = await this.database.transaction({ organizationId }, async (tx) => {
      const ingested = await ingestRunSummary(tx, caller, summary);
      if (ingested.jobId) await bookJobCost(tx, ingested.jobId);
      return ingested;
    });
    reply.setLocation(`/api/pilot/batches/${encodeURIComponent(batch.batchId)}`);
    return presentIngested(batch);
  }
}

function presentIngested({ replaced, ...batch }: IngestedBatch): RunSummaryAnswer {
  return { success: true, ...batch, ...(replaced ? { replaced } : {}) };
}
