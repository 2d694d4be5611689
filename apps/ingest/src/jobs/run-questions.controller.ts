import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Caller, Endpoint, type Principal, workers } from '@muster/access';
import {
  AskedQuestion,
  AskQuestionBody,
  AwaitAnswerQuery,
  GivenTotp,
  GiveTotpBody,
  QuestionForWorker,
} from '@muster/contracts';
import { Database } from '@muster/database';
import { askQuestion, awaitAnswer, giveTotpToRun } from '@muster/jobs';
import { Clock, Connection, OpenStreams, PubSub, Reply, ReplyHead } from '@muster/platform';
import { KeyRing } from '@muster/vault';
import { toReporter } from './to-reporter';

/** Receives the questions of runs, and serves the answers to workers that do not wait for a command. */
@ApiTags('Callbacks')
@Controller('/api/jobs/:id')
export class RunQuestionsController {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(PubSub) private readonly pubSub: PubSub,
    @Inject(OpenStreams) private readonly streams: OpenStreams,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  @Post('/questions')
  @Endpoint({
    summary: 'Ask a person a question',
    description:
      'The worker receives the answer as a command of the kind `answer`, or reads it with GET. If the run already ' +
      'has a question with this `questionKey`, that question is returned.',
    access: workers,
    body: AskQuestionBody,
    answer: AskedQuestion,
    status: 201,
    otherwise: { status: 200, description: 'The question exists already.', answer: AskedQuestion },
    errors: ['not_found', 'conflict'],
  })
  async ask(
    @Reply() reply: ReplyHead,
    @Caller() caller: Principal,
    @Param('id') jobId: string,
    @Body() body: AskQuestionBody,
  ): Promise<AskedQuestion> {
    const { question, isNew } = await askQuestion(this.database, toReporter(caller), jobId, body);
    if (!isNew) reply.setStatus(200);
    reply.setLocation(`/api/jobs/${jobId}/questions/${question.questionId}`);
    return question;
  }

  @Get('/questions/:questionId')
  @Endpoint({
    summary: 'Read or await the answer to a question',
    description: 'If `wait` is set, the response is delayed until the question ends or the time has passed.',
    access: workers,
    answer: QuestionForWorker,
    errors: ['invalid_payload', 'not_found', 'question_over'],
    waits: true,
  })
  read(
    @Connection() connection: Socket,
    @Caller() caller: Principal,
    @Param('id') jobId: string,
    @Param('questionId') questionId: string,
    @Query() { wait = 0 }: AwaitAnswerQuery,
  ): Promise<QuestionForWorker> {
    const { database, keyRing, pubSub } = this;
    return this.streams.runWaiting(connection, 'answer', (signal) =>
      awaitAnswer({ database, keyRing, pubSub }, toReporter(caller), {
        jobId,
        questionId,
        waitMs: wait * 1000,
        signal,
      }),
    );
  }

  @Post('/totp')
  @Endpoint({
    summary: 'Request a TOTP code from the vault',
    description:
      'Returns the current code of a TOTP secret that the run names in its vaultKeys. If that code is valid for less ' +
      'than 3 s or was returned to another run, the response is delayed until the next code becomes valid, and ' +
      'contains that code.',
    access: workers,
    body: GiveTotpBody,
    answer: GivenTotp,
    errors: ['not_found', 'conflict'],
    waits: true,
  })
  async totp(
    @Connection() connection: Socket,
    @Caller() caller: Principal,
    @Param('id') jobId: string,
    @Body() { key }: GiveTotpBody,
  ): Promise<GivenTotp> {
    const { database, keyRing } = this;
    const { code, validFrom, validUntil } = await giveTotpToRun({ database, keyRing }, caller, { jobId, key });
    const earlyMs = validFrom.getTime() - this.clock.now().getTime();
    if (earlyMs > 0) {
      await this.streams.runWaiting(connection, 'answer', (signal) =>
        sleep(earlyMs, undefined, { signal }).catch(() => undefined),
      );
    }
    const expiresAt = validUntil.toISOString();
    return { code, validFrom: validFrom.toISOString(), validUntil: expiresAt, expiresAt };
  }
}
