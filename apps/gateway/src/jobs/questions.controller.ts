import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import {
  Caller,
  Endpoint,
  Mutation,
  MutationRequest,
  Mutations,
  OrganizationId,
  allowSessionsAndKeys,
} from '@muster/access';
import type { Principal } from '@muster/access';
import { AnswerQuestionBody, DeclineQuestionBody, Question, QuestionList, QuestionsQuery } from '@muster/contracts';
import { Database } from '@muster/database';
import {
  toAnswerer,
  answerQuestion,
  declineQuestion,
  findQuestion,
  listQuestions,
  presentQuestion,
} from '@muster/jobs';
import { parsePage, buildPage } from '@muster/platform';
import { ObjectStorage } from '@muster/storage';
import { KeyRing } from '@muster/vault';

@ApiTags('Questions')
@Controller('/api/questions')
export class QuestionsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Mutations) private readonly mutations: Mutations,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
  ) {}

  @Get()
  @Endpoint({
    summary: 'List the questions of runs',
    description: 'A run asks a person a question, such as a one-time code, and waits for the answer.',
    access: allowSessionsAndKeys('runs.read'),
    answer: QuestionList,
    errors: ['invalid_payload'],
  })
  async list(@Caller() caller: Principal, @Query() filter: QuestionsQuery): Promise<QuestionList> {
    const page = parsePage(filter, 'id');
    const rows = await listQuestions(this.database, caller, { page, filter });
    const { items, nextCursor } = buildPage(rows, page, ({ id }) => [id]);
    return { questions: await Promise.all(items.map((row) => presentQuestion(row, this.storage))), nextCursor };
  }

  @Get('/:id')
  @Endpoint({
    summary: 'Read a question',
    reads: 'question',
    access: allowSessionsAndKeys('runs.read'),
    answer: Question,
    errors: ['not_found'],
  })
  async read(@OrganizationId() organizationId: string, @Param('id') id: string): Promise<Question> {
    return presentQuestion(await findQuestion(this.database, organizationId, id), this.storage);
  }

  @Post('/:id/answer')
  @Endpoint({
    summary: 'Answer a question',
    description:
      'A question can be answered once; a second answer fails with already_answered. The run then continues.',
    access: allowSessionsAndKeys('runs.write'),
    body: AnswerQuestionBody,
    answer: Question,
    errors: ['not_found', 'already_answered', 'question_over'],
  })
  answer(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() { answer }: AnswerQuestionBody,
  ): Promise<Question> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await answerQuestion(tx, this.keyRing, toAnswerer(caller), { id, answer });
      return { body: await presentQuestion(row, this.storage) };
    });
  }

  @Post('/:id/decline')
  @Endpoint({
    summary: 'Decline a question',
    description:
      'The script continues with the question’s default answer. If the question has no default answer, `muster.ask` ' +
      'raises an error in the script.',
    access: allowSessionsAndKeys('runs.write'),
    body: DeclineQuestionBody,
    answer: Question,
    errors: ['not_found', 'already_answered', 'question_over'],
  })
  decline(
    @Mutation() mutation: MutationRequest,
    @Param('id') id: string,
    @Body() { reason }: DeclineQuestionBody,
  ): Promise<Question> {
    return this.mutations.runMutation(mutation, async (tx, caller) => {
      const row = await declineQuestion(tx, this.keyRing, toAnswerer(caller), { id, reason });
      return { body: await presentQuestion(row, this.storage) };
    });
  }
}
