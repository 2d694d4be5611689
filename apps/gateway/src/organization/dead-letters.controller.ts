import { Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { audit, Endpoint, Mutation, MutationRequest, Mutations, OrganizationId, allowSessions } from '@muster/access';
import { DeadLetterList, DeadLetterQuery, type QueueName, SuccessAnswer } from '@muster/contracts';
import { Database, listDeadLetters, replayDeadLetter } from '@muster/database';
import { parsePage, buildPage } from '@muster/platform';
import { createDeadLetterNotFoundError, presentDeadLetter } from '../admin/present-dead-letter';

/** Messages of the organization that failed permanently. */
@ApiTags('Queues')
@Controller('/api/dead-letters')
export class DeadLettersController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List the organization’s dead letters, newest first',
    description: 'A dead letter is a queue message that failed permanently.',
    access: allowSessions('settings.admin'),
    answer: DeadLetterList,
    errors: ['invalid_payload'],
  })
  async list(@OrganizationId() organizationId: string, @Query() query: DeadLetterQuery): Promise<DeadLetterList> {
    const page = parsePage(query, 'id');
    const queue = query.queue as QueueName | undefined;
    const rows = await listDeadLetters(this.database, { organizationId }, { page, queue, q: query.q });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { deadLetters: items.map(presentDeadLetter), nextCursor };
  }

  @Post('/:id/replay')
  @Endpoint({
    summary: 'Replay a dead letter',
    description: 'The message is sent to its queue again. The number of its attempts starts from 0.',
    access: allowSessions('settings.admin'),
    answer: SuccessAnswer,
    status: 202,
    errors: ['invalid_payload', 'not_found'],
  })
  replay(@Mutation() mutation: MutationRequest, @Param('id') id: string): Promise<SuccessAnswer> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      if (!(await replayDeadLetter(tx, id))) throw createDeadLetterNotFoundError();
      audit(tx, caller, { action: 'dead_letter.replay', target: { type: 'dead_letter', id } });
      return { body: { success: true }, location: '/api/dead-letters' };
    });
  }
}
