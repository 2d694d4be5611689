import { Body, Controller, Delete, Get, Headers, Inject, Param, Post, Put, Query, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Endpoint, Mutations, principalOf, sessionsAndKeysOf } from '@muster/access';
import {
  AppError,
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
import { Database } from '@muster/database';
import { Clock, etagOf, pageOf, paginate } from '@muster/platform';
import {
  createSchedule,
  deleteSchedule,
  executeSchedules,
  findSchedule,
  foreseeForced,
  forceSchedule,
  listSchedules,
  presentTicks,
  recentRuns,
  requireCron,
  timezoneOfOrganization,
  updateSchedule,
} from '@muster/schedules';
import { VmConfig } from '@muster/vm';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { presentPreview, presentRun, presentSchedule } from './present-schedule';

@ApiTags('Schedules')
@Controller('/api/schedules')
export class SchedulesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(VmConfig) private readonly vm: VmConfig,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List schedules, disabled ones too',
    access: sessionsAndKeysOf('viewer'),
    answer: ScheduleList,
    errors: ['invalid_payload'],
  })
  async list(@Req() request: FastifyRequest, @Query() query: ScheduleQuery): Promise<ScheduleList> {
    const page = pageOf(query, 'id');
    const rows = await listSchedules(this.database, principalOf(request).organizationId, { page, filter: query });
    const { items, nextCursor } = paginate(rows, page, ({ id }) => [id]);
    return { schedules: items.map(presentSchedule), nextCursor };
  }

  @Post()
  @Endpoint({
    summary: 'Make a schedule',
    description: 'Daylight saving as in cron(8); see the preview for what that means for an expression.',
    access: sessionsAndKeysOf('member'),
    body: CreateScheduleBody,
    answer: Schedule,
    status: 201,
    errors: ['not_found', 'agent_not_found', 'nothing_to_run'],
    idempotent: true,
    etag: 'read',
  })
  create(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: CreateScheduleBody,
  ): Promise<unknown> {
    return this.mutations.run(request, reply, async (tx, caller) => {
      const row = await createSchedule(tx, caller, body, this.clock.now());
      return { body: presentSchedule(row), etag: etagOf(row.version), location: `/api/schedules/${row.id}` };
    });
  }

  @Post('/preview')
  @Endpoint({
    summary: 'Show when an expression would run, before it is saved',
    access: sessionsAndKeysOf('viewer'),
    body: PreviewScheduleBody,
    answer: SchedulePreview,
  })
  async previewAny(@Req() request: FastifyRequest, @Body() body: PreviewScheduleBody): Promise<SchedulePreview> {
    const { cronExpression, count = 10 } = body;
    const { organizationId } = principalOf(request);
    const timezone = body.timezone ?? (await this.timezoneOf(organizationId));
    requireCron({ cronExpression, timezone });
    return presentPreview({ cronExpression, timezone }, { after: this.clock.now(), count });
  }

  @Post('/execute')
  @Endpoint({
    summary: 'Execute due schedules, or one by force',
    description:
      'Each time of a schedule runs once, whoever executes it, so a repeat is safe; with force, an Idempotency-Key ' +
      'makes it so.',
    access: sessionsAndKeysOf('member'),
    unsuspended: true,
    body: ExecuteSchedulesBody,
    answer: ScheduleTicks,
    errors: ['not_found'],
    idempotent: true,
  })
  async execute(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Body() body: ExecuteSchedulesBody,
  ): Promise<unknown> {
    const { dryRun = false, force = false, limit = 25 } = body;
    const scheduleId = body.scheduleId ?? undefined;
    const now = this.clock.now();
    const caller = principalOf(request);
    if (!force) {
      return presentTicks(await executeSchedules(this.database, caller, { now, dryRun, limit, scheduleId }));
    }
    if (!scheduleId) {
      throw new AppError('invalid_payload', {
        detail: 'force runs one schedule: say which with scheduleId.',
        errors: [{ field: 'scheduleId', message: 'scheduleId is required with force' }],
      });
    }
    if (dryRun) return presentTicks(await foreseeForced(this.database, caller, scheduleId, now));
    const { wakeTimeoutMs } = this.vm;
    return this.mutations.run(request, reply, async (tx) => ({
      body: presentTicks(await forceSchedule(tx, caller, scheduleId, { now, wakeTimeoutMs })),
    }));
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a schedule and what became of its latest times',
    access: sessionsAndKeysOf('viewer'),
    answer: ScheduleDetail,
    errors: ['invalid_payload', 'not_found'],
    etag: 'read',
  })
  async read(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') id: string,
  ): Promise<ScheduleDetail> {
    const { organizationId } = principalOf(request);
    const [row, runs] = await Promise.all([
      findSchedule(this.database, organizationId, id),
      recentRuns(this.database, organizationId, id),
    ]);
    void reply.header('etag', etagOf(row.version));
    return { ...presentSchedule(row), recentRuns: runs.map(presentRun) };
  }

  @Put('/:id')
  @Endpoint({
    summary: 'Change the given fields of a schedule',
    description: 'A change of its times, or enabling it, begins anew: nothing that was missed is made up for.',
    access: sessionsAndKeysOf('member'),
    body: UpdateScheduleBody,
    answer: Schedule,
    errors: ['not_found', 'agent_not_found', 'nothing_to_run'],
    etag: 'change',
  })
  update(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') id: string,
    @Body() change: UpdateScheduleBody,
    @Headers('if-match') ifMatch?: string,
  ): Promise<unknown> {
    return this.mutations.run(request, reply, async (tx, caller) => {
      const row = await updateSchedule(tx, caller, id, { change, ifMatch, now: this.clock.now() });
      return { body: presentSchedule(row), etag: etagOf(row.version) };
    });
  }

  @Delete('/:id')
  @Endpoint({
    summary: 'Disable a schedule, or with hard=true delete it and its history',
    access: sessionsAndKeysOf('member'),
    status: 204,
    errors: ['invalid_payload', 'not_found', 'precondition_failed'],
  })
  delete(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @Param('id') id: string,
    @Query() { hard }: DeleteScheduleQuery,
    @Headers('if-match') ifMatch?: string,
  ): Promise<unknown> {
    return this.mutations.run(request, reply, async (tx, caller) => {
      await deleteSchedule(tx, caller, id, { hard: hard === 'true', ifMatch });
      return { body: undefined };
    });
  }

  @Get('/:id/preview')
  @Endpoint({
    summary: 'Show a schedule’s next runs, and what daylight saving does to them',
    description: 'As if it were enabled.',
    access: sessionsAndKeysOf('viewer'),
    answer: SchedulePreview,
    errors: ['invalid_payload', 'not_found'],
  })
  async preview(
    @Req() request: FastifyRequest,
    @Param('id') id: string,
    @Query() { count = 10 }: PreviewQuery,
  ): Promise<SchedulePreview> {
    const row = await findSchedule(this.database, principalOf(request).organizationId, id);
    return presentPreview(row, { after: this.clock.now(), count });
  }

  private timezoneOf(organizationId: string): Promise<string> {
    return this.database.transaction({ organizationId }, (tx) => timezoneOfOrganization(tx, organizationId));
  }
}
