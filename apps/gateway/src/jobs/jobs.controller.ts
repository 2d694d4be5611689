import { Body, Controller, Delete, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { readJobLogs } from '@muster/timeline';
import {
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  type Principal,
  allowSessionsAndKeys,
  allowSessions,
} from '@muster/access';
import {
  AgentLogList,
  CancelJobBody,
  CancelJobsBody,
  CancelledJobs,
  Job,
  JobFilter,
  JobList,
  JobLogsQuery,
  JobStatusAnswer,
  JobStatusQuery,
  JobStepList,
  LaunchedJob,
  LaunchJobBody,
  PlacementPreview,
  PlacementPreviewBody,
  StepQuery,
} from '@muster/contracts';
import { Database, getPositionValues, type Transaction } from '@muster/database';
import {
  cancelJob,
  cancelJobs,
  deleteJob,
  findJob,
  launchJob,
  listJobs,
  listSteps,
  presentJob,
  presentJobStatus,
  presentStep,
  previewPlacement,
  replayJob,
  revealSealedValues,
  type JobRow,
  getSortKinds,
} from '@muster/jobs';
import { unlinkJobFromBatches } from '@muster/pilot';
import { Clock, parsePage, buildPage } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';
import { presentTimelineEntry } from '../agents/present-entry';

@ApiTags('Jobs')
@Controller()
export class JobsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Get('/api/jobs')
  @Endpoint({
    summary: 'List jobs',
    description: 'The newest job comes first, unless `sort` specifies another order.',
    access: allowSessionsAndKeys('runs.read'),
    answer: JobList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: JobFilter): Promise<JobList> {
    const { sort, ...filter } = query;
    const page = parsePage(query, ...getSortKinds(sort));
    const rows = await listJobs(this.database, organizationId, { page, filter, sort });
    const { items, nextCursor } = buildPage(rows, page, getPositionValues);
    return { jobs: await Promise.all(items.map((row) => presentJob(row, this.storage))), nextCursor };
  }

  @Post('/api/jobs/launch')
  @Endpoint({
    summary: 'Queue a run of a workflow on an agent',
    description:
      'The job runs the revision that the workflow has now. Specify either an agent or a target: labels that an ' +
      'agent must have to run the job. The job starts when an agent can run it.',
    access: allowSessionsAndKeys('runs.write'),
    unsuspended: true,
    body: LaunchJobBody,
    answer: LaunchedJob,
    status: 202,
    errors: [
      ...(['not_found', 'agent_not_found', 'no_agent_fits', 'nothing_to_run', 'no_pinned_version'] as const),
      'billing_gate_closed',
    ],
    idempotent: true,
  })
  launch(@Mutation() mutation: MutationRequest, @Body() body: LaunchJobBody): Promise<LaunchedJob> {
    const launchInTransaction = async (tx: Transaction, caller: Principal) => {
      const launched = await launchJob(tx, caller, body, this.clock.now(), this.keyRing);
      return { body: launched, location: `/api/jobs/${launched.jobId}` };
    };
    return this.mutations.runMutation(mutation, launchInTransaction, { shared: 'launch' });
  }

  @Post('/api/jobs/placement-preview')
  @Endpoint({
    summary: 'Preview where a run would start',
    description: 'Returns what would happen now to a run with this agent or target. Nothing is launched.',
    reads: 'run',
    access: allowSessionsAndKeys('runs.read'),
    body: PlacementPreviewBody,
    answer: PlacementPreview,
    status: 200,
    errors: ['not_found', 'agent_not_found'],
  })
  preview(@OrganizationId() organizationId: string, @Body() body: PlacementPreviewBody): Promise<PlacementPreview> {
    return previewPlacement(this.database, organizationId, body, this.clock.now());
  }

  @Post('/api/jobs/cancel')
  @Endpoint({
    summary: 'Cancel many jobs',
    description: 'Select the jobs by `ids` or by `filter`. A request cancels at most 1,000 jobs, oldest first.',
    access: allowSessionsAndKeys('runs.write'),
    body: CancelJobsBody,
    answer: CancelledJobs,
  })
  cancelMany(@Mutation() mutation: MutationRequest, @Body() body: CancelJobsBody): Promise<CancelledJobs> {
    return this.mutations.runMutation(mutation, async (tx, caller) => ({
      body: await cancelJobs(tx, caller, body, this.clock.now()),
    }));
  }

  @Get('/api/job-status')
  @Endpoint({
    summary: 'Read the status and result of a job',
    reads: 'run',
    access: allowSessionsAndKeys('runs.read'),
    answer: JobStatusAnswer,
    errors: ['invalid_payload', 'not_found'],
  })
  async status(@Caller() caller: Principal, @Query() { jobId }: JobStatusQuery): Promise<JobStatusAnswer> {
    const [row] = await this.reveal(caller, [await findJob(this.database, caller.organizationId, jobId)]);
    return presentJobStatus(row!, this.storage);
  }

  @Get('/api/jobs/:id')
  @Endpoint({
    summary: 'Read a job',
    description: 'Contains its status, its progress and, if it waits, the reason.',
    reads: 'run',
    access: allowSessionsAndKeys('runs.read'),
    answer: Job,
    errors: ['invalid_payload', 'not_found'],
  })
  async read(@Caller() caller: Principal, @Param('id') id: string): Promise<Job> {
    const [row] = await this.reveal(caller, [await findJob(this.database, caller.organizationId, id)]);
    return presentJob(row!, this.storage);
  }

  @Delete('/api/jobs/:id')
  @Endpoint({
    summary: 'Delete a job and its stored data',
    description:
      'An open job is ended first, and its worker is instructed to stop. The cost of the job remains in usage, costs ' +
      'and billing records. Schedules and batches no longer refer to the job. Later reports of its worker are ' +
      'answered with the reason job_over.',
    access: allowSessions('runs.write'),
    sensitive: true,
    status: 204,
    errors: ['invalid_payload', 'not_found'],
  })
  delete(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        await deleteJob(tx, caller, id, { now: this.clock.now(), forget: unlinkJobFromBatches });
        return { body: undefined };
      },
      // This transaction has the system scope, because billing records can be written only in it.
      { scope: 'system' },
    );
  }

  @Post('/api/jobs/:id/cancel')
  @Endpoint({
    summary: 'Cancel a job',
    description:
      'A queued job is cancelled at once. A started job has `cancelling` true until its agent confirms that all its ' +
      'processes have ended.',
    access: allowSessionsAndKeys('runs.write'),
    body: CancelJobBody,
    answer: Job,
    status: 202,
    errors: ['not_found', 'conflict'],
  })
  async cancel(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Param('id') id: string,
    @Body() { reason }: CancelJobBody,
  ): Promise<Job> {
    await this.mutations.runMutation(mutation, async (tx) => {
      await cancelJob(tx, caller, id, { reason, now: this.clock.now() });
      return { body: undefined, location: `/api/jobs/${id}` };
    });
    return this.read(caller, id);
  }

  @Post('/api/jobs/:id/replay')
  @Endpoint({
    summary: 'Run an ended job again',
    description: 'Queues a new job with the same revision, agent, variables and options.',
    access: allowSessionsAndKeys('runs.write'),
    unsuspended: true,
    answer: LaunchedJob,
    status: 202,
    errors: ['invalid_payload', 'not_found', 'conflict', 'agent_not_ready', 'nothing_to_run', 'billing_gate_closed'],
    idempotent: true,
  })
  replay(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<LaunchedJob> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const launched = await replayJob(tx, caller, id, this.clock.now());
      return { body: launched, location: `/api/jobs/${launched.jobId}` };
    });
  }

  @Get('/api/jobs/:id/steps')
  @Endpoint({
    summary: 'List a job’s steps in order',
    reads: 'run',
    access: allowSessionsAndKeys('runs.read'),
    answer: JobStepList,
    errors: ['invalid_payload', 'not_found'],
  })
  async steps(
    @OrganizationId() organizationId: string,
    @Param('id') jobId: string,
    @Query() query: StepQuery,
  ): Promise<JobStepList> {
    const page = parsePage(query, 'integer');
    const rows = await listSteps(this.database, organizationId, { jobId, page });
    const { items, nextCursor } = buildPage(rows, page, ({ stepOrder }) => [String(stepOrder)]);
    return { steps: items.map(presentStep), nextCursor };
  }

  @Get('/api/jobs/:id/logs')
  @Endpoint({
    summary: 'List a job’s log entries',
    description: 'The oldest entry comes first, unless `order` is desc.',
    reads: 'log',
    access: allowSessionsAndKeys('runs.read'),
    answer: AgentLogList,
    errors: ['invalid_payload', 'not_found'],
  })
  async logs(
    @OrganizationId() organizationId: string,
    @Param('id') jobId: string,
    @Query() query: JobLogsQuery,
  ): Promise<AgentLogList> {
    const page = parsePage(query, 'bigint');
    const rows = await readJobLogs(this.database, organizationId, jobId, page, query);
    if (rows.length === 0) await findJob(this.database, organizationId, jobId);
    const { items, nextCursor } = buildPage(rows, page, ({ seq }) => [String(seq)]);
    return { entries: items.map(presentTimelineEntry), nextCursor };
  }

  private reveal(caller: Principal, rows: JobRow[]): Promise<JobRow[]> {
    return revealSealedValues({ database: this.database, keyRing: this.keyRing }, caller, rows);
  }
}
