import { Body, Controller, Delete, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { audit, Endpoint, Mutation, MutationRequest, Mutations, allowSessions } from '@muster/access';
import {
  AppError,
  DeadLetterList,
  DeadLetterQuery,
  PageQuery,
  getQueueDefinition,
  type QueueName,
  QueueProbe,
  QueueProbeList,
  QueueStateList,
  RequestQueueProbesBody,
  SuccessAnswer,
} from '@muster/contracts';
import {
  Database,
  discardDeadLetter,
  findQueueProbe,
  readLatestQueueProbes,
  listDeadLetters,
  listQueueProbes,
  type QueueProbeEntity,
  readBacklog,
  replayDeadLetter,
  requestQueueProbes,
} from '@muster/database';
import { parsePage, buildPage, QueueRates } from '@muster/platform';
import { createDeadLetterNotFoundError, presentDeadLetter } from './present-dead-letter';

/** The state of the queues, their probe messages, and the replay or deletion of dead letters. */
@ApiTags('Queues')
@Controller('/api/admin')
export class QueuesController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(QueueRates) private readonly rates: QueueRates,
  ) {}

  @Get('/queues')
  @Endpoint({
    summary: 'List the queues',
    description: 'Returns the backlog, dead letters, rate, failures and latest probe message of every queue.',
    access: allowSessions('platform.admin'),
    answer: QueueStateList,
  })
  async queues(): Promise<QueueStateList> {
    const [backlog, probes] = await Promise.all([readBacklog(this.database), readLatestQueueProbes(this.database)]);
    const rates = await Promise.all(backlog.map(({ queue }) => this.rates.readRate(queue)));
    const queues = backlog.map(({ queue, waiting, oldestWaitingAt, dead }, at) => {
      const rate = rates[at];
      const probe = probes.find((candidate) => candidate.queue === queue);
      const { app, purpose } = getQueueDefinition(queue);
      return {
        name: queue,
        app,
        purpose,
        waiting,
        oldestWaitingAt: oldestWaitingAt?.toISOString() ?? null,
        dead,
        handledLastHour: rate?.handledLastHour ?? null,
        handledPerMinute: rate?.handledPerMinute ?? null,
        failedLastHour: rate?.failedLastHour ?? null,
        lastProbe: probe ? presentProbe(probe) : null,
      };
    });
    return { queues, nextCursor: null };
  }

  @Get('/queue-probes')
  @Endpoint({
    summary: 'List the probe messages of the queues, newest first',
    access: allowSessions('platform.admin'),
    answer: QueueProbeList,
    errors: ['invalid_payload'],
  })
  async probes(@Query() query: PageQuery): Promise<QueueProbeList> {
    const page = parsePage(query, 'id');
    const { items, nextCursor } = buildPage(await listQueueProbes(this.database, page), page, ({ id }) => [id]);
    return { probes: items.map(presentProbe), nextCursor };
  }

  @Post('/queue-probes')
  @Endpoint({
    summary: 'Send probe messages through the queues',
    description: 'A probe message has `handledAt` once the app that processes its queue has handled it.',
    access: allowSessions('platform.admin'),
    body: RequestQueueProbesBody,
    answer: QueueProbeList,
    status: 202,
    idempotent: true,
  })
  probe(
    @Mutation() mutation: MutationRequest,
    @Body() { queue, count }: RequestQueueProbesBody,
  ): Promise<QueueProbeList> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        const probes = await requestQueueProbes(tx, { count, ...(queue ? { queues: [queue as QueueName] } : {}) });
        const target = { type: 'queue', id: queue ?? 'all' };
        audit(tx, caller, { action: 'queue.probe', target, changes: { count: probes.length } });
        const answer: QueueProbeList = { probes: probes.map(presentProbe), nextCursor: null };
        return { body: answer, location: '/api/admin/queue-probes' };
      },
      { scope: 'system' },
    );
  }

  @Get('/queue-probes/:id')
  @Endpoint({
    summary: 'Read a probe message',
    access: allowSessions('platform.admin'),
    answer: QueueProbe,
    errors: ['invalid_payload', 'not_found'],
  })
  async readProbe(@Param('id') id: string): Promise<QueueProbe> {
    const probe = await findQueueProbe(this.database, id);
    if (!probe)
      throw new AppError('not_found', { detail: 'There is no probe message with this id. Send new probe messages.' });
    return presentProbe(probe);
  }

  @Get('/dead-letters')
  @Endpoint({
    summary: 'List dead letters, newest first',
    description: 'Returns the messages that failed permanently.',
    access: allowSessions('platform.admin'),
    answer: DeadLetterList,
    errors: ['invalid_payload'],
  })
  async deadLetters(@Query() query: DeadLetterQuery): Promise<DeadLetterList> {
    const page = parsePage(query, 'id');
    const queue = query.queue as QueueName | undefined;
    const rows = await listDeadLetters(this.database, 'system', { page, queue, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { deadLetters: items.map(presentDeadLetter), nextCursor };
  }

  @Post('/dead-letters/:id/replay')
  @Endpoint({
    summary: 'Replay a dead letter',
    description: 'Publishes the message again and counts its attempts from 0.',
    access: allowSessions('platform.admin'),
    answer: SuccessAnswer,
    status: 202,
    errors: ['invalid_payload', 'not_found'],
  })
  replay(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<SuccessAnswer> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        if (!(await replayDeadLetter(tx, id))) throw createDeadLetterNotFoundError();
        audit(tx, caller, { action: 'dead_letter.replay', target: { type: 'dead_letter', id } });
        return { body: { success: true }, location: '/api/admin/dead-letters' };
      },
      { scope: 'system' },
    );
  }

  @Delete('/dead-letters/:id')
  @Endpoint({
    summary: 'Delete a dead letter',
    description: 'The message is lost: it cannot be replayed afterwards.',
    access: allowSessions('platform.admin'),
    status: 204,
    errors: ['invalid_payload', 'not_found'],
  })
  discard(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<void> {
    return this.mutations.runMutation(
      mutation,
      async (tx, caller) => {
        if (!(await discardDeadLetter(tx, id))) throw createDeadLetterNotFoundError();
        audit(tx, caller, { action: 'dead_letter.discard', target: { type: 'dead_letter', id } });
        return { body: undefined };
      },
      { scope: 'system' },
    );
  }
}

function presentProbe(probe: QueueProbeEntity): QueueProbe {
  return {
    id: probe.id,
    queue: probe.queue,
    requestedAt: probe.requestedAt.toISOString(),
    handledAt: probe.handledAt?.toISOString() ?? null,
    handledBy: probe.handledBy,
    deliveries: probe.deliveries,
  };
}
