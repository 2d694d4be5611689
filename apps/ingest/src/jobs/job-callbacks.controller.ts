import { Body, Controller, Headers, Inject, Param, Post } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import {
  getBoundAgent,
  Caller,
  CallerIfAny,
  Endpoint,
  type Principal,
  listSecretsForAgent,
  signatureHeader,
  readSignatureTime,
  signers,
  checkSignature,
  workers,
} from '@muster/access';
import {
  AppError,
  CallbackAnswer,
  ClaimResultsAnswer,
  ClaimResultsBody,
  FailAccountBody,
  JobLogsAnswer,
  JobLogsBody,
  JobWebhookAnswer,
  JobWebhookBody,
  notFoundError,
  StepStatusBody,
} from '@muster/contracts';
import { Database } from '@muster/database';
import {
  appendJobLogs,
  applyClaimResults,
  maskSensitiveClaims,
  applyJobReport,
  applyStepStatus,
  setAsideAccountOfRun,
  findJobOwner,
} from '@muster/jobs';
import { Clock, Metrics, nilId, Unparsed, UnparsedBody } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { toReporter } from './to-reporter';

/**
 * Receives the reports of workers about their jobs. A report can arrive several times, and reports can arrive in any
 * order. A report that changes nothing is answered with 200 and a reason, never with an error.
 */
@ApiTags('Callbacks')
@Controller()
export class JobCallbacksController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  @Post('/api/job-webhook')
  @Endpoint({
    summary: 'Report that a job runs or has ended',
    description:
      'The first report of an end is stored. If `accepted` is false with the reason `job_over`, the job has already ' +
      'ended and the worker must stop running it.',
    access: workers,
    body: JobWebhookBody,
    answer: JobWebhookAnswer,
    errors: ['not_found'],
  })
  webhook(@Caller() caller: Principal, @Body() body: JobWebhookBody): Promise<JobWebhookAnswer> {
    return this.countCallback('job-webhook', applyJobReport(this.database, toReporter(caller), body, this.keyRing));
  }

  @Post('/api/agents/:id/step-status')
  @Endpoint({
    summary: 'Report the progress of a step',
    description:
      'A report never returns a step to an earlier status. If reports arrive out of order, a report that the step ' +
      'has ended takes precedence; otherwise the report with the greater `seq` does.',
    access: workers,
    body: StepStatusBody,
    answer: CallbackAnswer,
    errors: ['not_found'],
  })
  step(
    @Caller() caller: Principal,
    @Param('id') agentId: string,
    @Body() body: StepStatusBody,
  ): Promise<CallbackAnswer> {
    const { organizationId, agentId: own } = toReporter(caller);
    if (own && own !== agentId)
      throw new AppError('permission_denied', {
        detail: 'This worker key belongs to another agent. Use the key of the agent that runs the job.',
      });
    return this.countCallback('step-status', applyStepStatus(this.database, { organizationId, agentId }, body));
  }

  @Post('/api/job-logs')
  @Endpoint({
    summary: 'Report log entries',
    description:
      'A request can have at most 1,000 entries. If one of its jobs does not belong to the caller, the whole ' +
      'request is rejected.',
    access: workers,
    body: JobLogsBody,
    answer: JobLogsAnswer,
    errors: ['not_found'],
  })
  logs(@Caller() caller: Principal, @Body() { logs }: JobLogsBody): Promise<JobLogsAnswer> {
    return this.countCallback('job-logs', appendJobLogs(this.database, toReporter(caller), logs));
  }

  @Post('/api/jobs/:id/accounts/:pool/failed')
  @Endpoint({
    summary: 'Report that an account cannot be used',
    description:
      'Sets the run’s account of this pool aside: no run gets it until an admin enables it again or saves a new ' +
      'secret for it. Returns 404 if the run never had an account of the pool.',
    access: workers,
    body: FailAccountBody,
    answer: CallbackAnswer,
    errors: ['not_found'],
  })
  accountFailed(
    @Caller() caller: Principal,
    @Param('id') jobId: string,
    @Param('pool') pool: string,
    @Body() body: FailAccountBody,
  ): Promise<CallbackAnswer> {
    const report = { jobId, pool, reason: body.reason, message: body.message };
    return this.countCallback('account-failed', setAsideAccountOfRun(this.database, toReporter(caller), report));
  }

  @Post('/api/jobs/:id/claim-results')
  @ApiHeader({
    name: signatureHeader,
    required: true,
    description: 't=<unix seconds>,v1=<hex HMAC-SHA256 of "<t>.<jobId>.<raw body>">',
    schema: { type: 'string' },
  })
  @Endpoint({
    summary: 'Report the outcomes of claims',
    description:
      'A request has at most 100 claims. A claim counts once for its job. If a claim is reported twice, the report ' +
      'that was signed later is used. The request needs no API key: it is authenticated by its signature with the ' +
      'secret of the organization or of the job’s agent. If it also contains a worker key, the key must belong to ' +
      'the job’s organization.',
    access: signers,
    body: ClaimResultsBody,
    answer: ClaimResultsAnswer,
    errors: ['not_found'],
    unparsed: true,
  })
  async claims(
    @CallerIfAny() key: Principal | null,
    @Unparsed() body: UnparsedBody,
    @Param('id') jobId: string,
    @Headers(signatureHeader) signature?: string,
  ): Promise<ClaimResultsAnswer> {
    const owner = await findJobOwner(this.database, jobId);
    if (key && key.organizationId !== owner?.organizationId) throw notFoundError('job');
    const signed = Buffer.concat([Buffer.from(`${jobId}.`), body.bytes]);
    // A caller without a key must not learn whether the job exists, so a missing job gets the error of a wrong
    // signature.
    const organizationId = owner?.organizationId ?? nilId;
    const boundAgentId = key && getBoundAgent(key);
    const signer = { organizationId, agentId: owner?.agentId ?? boundAgentId ?? nilId };
    const verdict = checkSignature(listSecretsForAgent(this.keyRing, signer), signature, signed, this.clock.now());
    if (verdict !== 'valid') {
      throw new AppError('unauthenticated', {
        detail: `The signature in ${signatureHeader} is ${verdict}. Sign the unchanged body again, with the current time and the signing secret.`,
      });
    }
    const { claimResults } = await body.parseAs(ClaimResultsBody);
    const { database, keyRing } = this;
    const claims = await maskSensitiveClaims({ database, keyRing }, { organizationId, jobId }, claimResults);
    return this.countCallback(
      'claim-results',
      applyClaimResults(
        this.database,
        { organizationId, agentId: boundAgentId },
        { jobId, claims, signedAt: readSignatureTime(signature!) },
      ),
    );
  }

  /**
   * Counts a report in the metrics after it was stored: as applied, or by the reason that is returned to the worker.
   */
  private async countCallback<T extends { accepted: boolean | number; reason?: string }>(
    callback: string,
    applying: Promise<T>,
  ): Promise<T> {
    const answer = await applying;
    const isApplied = answer.accepted !== false && answer.accepted !== 0;
    this.metrics.callbacks.inc({ callback, outcome: isApplied ? 'applied' : (answer.reason ?? 'nothing_new') });
    return answer;
  }
}
