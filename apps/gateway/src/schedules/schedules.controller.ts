import { Body, Controller, Delete, Get, Inject, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  IfMatch,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  type Principal,
  allowSessionsAndKeys,
} from '@muster/access';
import {
  invalidFieldError,
  CreateScheduleBody,
  DeleteScheduleQuery,
  ExecuteSchedulesBody,
  PreviewQuery,
  PreviewScheduleBody,
  Schedule,
  ScheduleDetail,
  ScheduleList,
  SchedulePreview,
  ScheduleQuery,
  ScheduleTicks,
  UpdateScheduleBody,
} from '@muster/contracts';
import { Database, getPositionValues } from '@muster/database';
import { Clock, toEtag, parsePage, buildPage, Reply, ReplyHead } from '@muster/platform';
import {
  createSchedule,
  deleteSchedule,
  executeSchedules,
  findSchedule,
  runScheduleNow,
  previewForcedRun,
  listSchedules,
  parseScheduleOrder,
  presentPreview,
  presentRun,
  presentSchedule,
  presentTicks,
  listRecentRunsOfSchedule,
  revealSchedule,
  requireValidCron,
  readOrganizationTimezone,
  updateSchedule,
} from '@muster/schedules';
import { VmConfig } from '@muster/vm';
import { KeyRing } from '@muster/vault';

@ApiTags('Schedules')
@Controller('/api/schedules')
export class SchedulesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List schedules',
    description: 'Includes disabled schedules.',
    access: allowSessionsAndKeys('schedules.read'),
    answer: ScheduleList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: ScheduleQuery): Promise<ScheduleList> {
    const page = parsePage(query, ...parseScheduleOrder(query.sort).cursor);
    const rows = await listSchedules(this.database, organizationId, { page, filter: query });
    const { items, nextCursor } = buildPage(rows, page, getPositionValues);
    return { schedules: items.map(presentSchedule), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Create a schedule',
    description:
      'Daylight saving time is handled as in cron(8). POST /api/schedules/preview shows the resulting times of an ' +
      'expression.',
    access: allowSessionsAndKeys('schedules.write'),
    body: CreateScheduleBody,
    answer: Schedule,
    status: 201,
    errors: ['not_found', 'agent_not_found', 'no_agent_fits', 'nothing_to_run'],
    idempotent: true,
    etag: 'read',
  })
  create(@Mutation() mutation: MutationRequest, @Body() body: CreateScheduleBody): Promise<Schedule> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await createSchedule(tx, caller, body, { now: this.clock.now(), keyRing: this.keyRing });
      return { body: presentSchedule(row), etag: toEtag(row.version), location: `/api/schedules/${row.id}` };
    });
  }

  @Post('/preview')
  @Endpoint({
    summary: 'Preview the runs of a cron expression',
    description: 'Saves nothing. Runs that are more than a century ahead are not listed.',
    access: allowSessionsAndKeys('schedules.read'),
    body: PreviewScheduleBody,
    answer: SchedulePreview,
  })
  async previewAny(
    @OrganizationId() organizationId: string,
    @Body() body: PreviewScheduleBody,
  ): Promise<SchedulePreview> {
    const { cronExpression, count = 10 } = body;
    const timezone = body.timezone ?? (await this.readTimezone(organizationId));
    requireValidCron({ cronExpression, timezone });
    return presentPreview({ cronExpression, timezone }, { after: this.clock.now(), count });
  }

  @Post('/execute')
  @Endpoint({
    summary: 'Execute due schedules, or one by force',
    description:
      'Each scheduled time is executed only once, so the request can be repeated safely. With `force`, send an ' +
      'Idempotency-Key to make a repeat safe.',
    access: allowSessionsAndKeys('schedules.write'),
    unsuspended: true,
    body: ExecuteSchedulesBody,
    answer: ScheduleTicks,
    errors: ['not_found'],
    idempotent: true,
  })
  async execute(
    @Mutation() mutation: MutationRequest,
    @Caller() caller: Principal,
    @Body() body: ExecuteSchedulesBody,
  ): Promise<ScheduleTicks> {
    const { dryRun = false, force = false, limit = 25 } = body;
    const scheduleId = body.scheduleId ?? undefined;
    const now = this.clock.now();
    if (!force) {
      return presentTicks(
        await executeSchedules(this.database, caller, {
          ...{ now, dryRun, limit, scheduleId, keyRing: this.keyRing },
        }),
      );
    }
    if (!scheduleId) {
      const detail = 'force runs a single schedule. Specify it in scheduleId.';
      throw invalidFieldError('scheduleId', 'scheduleId is required with force', detail);
    }
    if (dryRun) return presentTicks(await previewForcedRun(this.database, caller, scheduleId, now));
    const { wakeTimeoutMs } = this.vm;
    return this.mutations.runMutation(mutation, async (tx) => ({
      body: presentTicks(await runScheduleNow(tx, caller, scheduleId, { now, wakeTimeoutMs, keyRing: this.keyRing })),
    }));
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a schedule and its recent runs',
    description: 'Shows sensitive variables to callers with the permission runs.screens, and `[sealed]` to others.',
    access: allowSessionsAndKeys('schedules.read'),
    reads: 'schedule',
    answer: ScheduleDetail,
    errors: ['invalid_payload', 'not_found'],
    etag: 'read',
  })
  async read(@Reply() reply: ReplyHead, @Caller() caller: Principal, @Param('id') id: string): Promise<ScheduleDetail> {
    const [row, runs] = await Promise.all([
      findSchedule(this.database, caller.organizationId, id),
      listRecentRunsOfSchedule(this.database, caller.organizationId, id),
    ]);
    reply.setEtag(row.version);
    return {
      ...presentSchedule(await revealSchedule({ database: this.database, keyRing: this.keyRing }, caller, row)),
      recentRuns: runs.map(presentRun),
    };
  }

  @Put('/:id')
  @Endpoint({
    summary: 'Change fields of a schedule',
    description:
      'Absent fields keep their values. If the times change or the schedule is enabled, the next run is computed ' +
      'from the current time, and missed runs are not launched.',
    access: allowSessionsAndKeys('schedules.write'),
    body: UpdateScheduleBody,
    answer: Schedule,
    errors: ['not_found', 'agent_not_found', 'no_agent_fits', 'nothing_to_run'],
    etag: 'change',
  })
  update(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() change: UpdateScheduleBody,
    @IfMatch() ifMatch?: string,
  ): Promise<Schedule> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await updateSchedule(tx, caller, id, {
        ...{ change, ifMatch, now: this.clock.now(), keyRing: this.keyRing },
      });
      return { body: presentSchedule(row), etag: toEtag(row.version) };
    });
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Disable or delete a schedule',
    description: 'Disables the schedule. With `hard=true`, deletes it and its history.',
    access: allowSessionsAndKeys('schedules.write'),
    status: 204,
    errors: ['invalid_payload', 'not_found'],
    etag: 'change',
  })
  delete(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Query() { hard }: DeleteScheduleQuery,
    @IfMatch() ifMatch?: string,
  ): Promise<void> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      await deleteSchedule(tx, caller, id, { hard: hard === 'true', ifMatch });
      return { body: undefined };
    });
  }

  @Get('/:id/preview')
  @Endpoint({
    summary: 'Preview a schedule’s next runs',
    description: 'Shows the effect of daylight saving time. A disabled schedule is previewed as if it were enabled.',
    access: allowSessionsAndKeys('schedules.read'),
    answer: SchedulePreview,
    errors: ['invalid_payload', 'not_found'],
  })
  async preview(
    @OrganizationId() organizationId: string,
    @Param('id') id: string,
    @Query() { count = 10 }: PreviewQuery,
  ): Promise<SchedulePreview> {
    const row = await findSchedule(this.database, organizationId, id);
    return presentPreview(row, { after: this.clock.now(), count });
  }

  private readTimezone(organizationId: string): Promise<string> {
    return this.database.transaction({ organizationId }, (tx) => readOrganizationTimezone(tx, organizationId));
  }
}
