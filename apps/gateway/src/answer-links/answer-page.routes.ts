import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { AppError } from '@muster/contracts';
import { presentLinkedQuestion, type QuestionRow } from '@muster/jobs';
import { Clock, getClientAddress, getUnparsedBody } from '@muster/platform';
import { getObjectOrigin, ObjectStorage, StorageConfig } from '@muster/storage';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AnswerLinks } from './answer-links';
import { parseAnswerForm } from './parse-answer-form';
import { renderNoticePage, renderQuestionPage, stylesHash } from './render-answer-page';

type LinkRequest = FastifyRequest<{ Params: { token: string } }>;

/** Maximum size of an answer in bytes: a form of 50 long texts, in the encoding of a form. */
const bodyLimit = 1024 * 1024;

const endings = {
  answered: { title: 'Already answered', text: 'The question has an answer, and the run continues with it.' },
  expired: { title: 'The question has expired', text: 'No answer arrived in time, so the run continued without one.' },
  cancelled: { title: 'The question is closed', text: 'It was declined, or its run has ended.' },
};
const answered = { title: 'Answered', text: 'The run continues. You can close this page.' };
const invalidLink = {
  title: 'This link is not valid',
  text: 'The link is incomplete, or the question no longer exists. Open the link again from the message.',
};

/**
 * The page of an answer link: a form without scripts, which is sent to the page's own address. Opening the page changes
 * nothing, because mail scanners and browsers open links in advance; only the form answers the question. The page is
 * not a controller, because it answers HTML also to errors. No session is involved and the token cannot be guessed, so
 * a form of another site could not answer anything that its sender cannot answer anyway.
 */
@Injectable()
export class AnswerPageRoutes implements OnModuleInit {
  private readonly policy: string;

  constructor(
    @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    @Inject(AnswerLinks) private readonly links: AnswerLinks,
    @Inject(ObjectStorage) private readonly storage: ObjectStorage,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(StorageConfig) storageConfig: StorageConfig,
  ) {
    this.policy = [
      "default-src 'none'",
      `style-src ${stylesHash}`,
      `img-src 'self' ${getObjectOrigin(storageConfig)}`.trimEnd(),
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ].join('; ');
  }

  onModuleInit(): void {
    const fastify = this.host.httpAdapter.getInstance<FastifyInstance>();
    const own = { guardsItself: true, secretPath: true };
    fastify.get<{ Params: { token: string } }>('/a/:token', { config: own }, (request, reply) =>
      this.sendResult(reply, () => this.showQuestion(request, reply)),
    );
    // The body is read as bytes, because its content type is not accepted elsewhere.
    fastify.post<{ Params: { token: string } }>(
      '/a/:token',
      { config: { ...own, unparsed: true, bodyLimit } },
      (request, reply) => this.sendResult(reply, () => this.acceptAnswer(request, reply)),
    );
  }

  private async showQuestion(request: LinkRequest, reply: FastifyReply): Promise<string> {
    const { row } = await this.links.findQuestion(getClientAddress(request), request.params.token);
    const status = this.readStatus(row);
    if (status === 'open') return this.renderQuestion(row);
    void reply.status(410);
    return renderNoticePage(endings[status], row.question);
  }

  private async acceptAnswer(request: LinkRequest, reply: FastifyReply): Promise<string> {
    const found = await this.links.findQuestion(getClientAddress(request), request.params.token);
    const { row } = found;
    const status = this.readStatus(row);
    if (status !== 'open') {
      void reply.status(409);
      return renderNoticePage(endings[status], row.question);
    }
    try {
      const { contentType, bytes } = getUnparsedBody(request);
      await this.links.answerQuestion(found, parseAnswerForm(row, contentType, bytes));
    } catch (error) {
      // Another answer, or the end of the question, was committed in between.
      if (isRefusal(error, 'already_answered', 'question_over')) return await this.showEnd(request, reply);
      if (!isRefusal(error, 'invalid_payload', 'unsupported_media_type')) throw error;
      void reply.status(error.status);
      return this.renderQuestion(row, error.message);
    }
    return renderNoticePage(answered, row.question);
  }

  private async showEnd(request: LinkRequest, reply: FastifyReply): Promise<string> {
    const { row } = await this.links.findQuestion(getClientAddress(request), request.params.token);
    const status = this.readStatus(row);
    void reply.status(409);
    return renderNoticePage(endings[status === 'open' ? 'cancelled' : status], row.question);
  }

  /** A question whose time has passed is expired, even if the loop that expires questions has not reached it. */
  private readStatus({ status, expiresAt }: QuestionRow): QuestionRow['status'] {
    return status === 'open' && expiresAt <= this.clock.now() ? 'expired' : status;
  }

  private async renderQuestion(row: QuestionRow, wrong?: string): Promise<string> {
    const question = { ...(await presentLinkedQuestion(row, this.storage)), takeover: row.takeover };
    return renderQuestionPage(question, this.clock.now(), wrong);
  }

  /** Sends the page that `work` returns; an expected error becomes a page too. */
  private async sendResult(reply: FastifyReply, work: () => Promise<string>): Promise<FastifyReply> {
    const page = await work().catch((error: unknown) => {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      void reply.status(error.status).headers(error.options.headers ?? {});
      if (error.code === 'not_found') return renderNoticePage(invalidLink);
      return renderNoticePage({ title: 'The page cannot be shown', text: error.message });
    });
    return reply
      .header('cache-control', 'no-store')
      .header('content-security-policy', this.policy)
      .type('text/html; charset=utf-8')
      .send(page);
  }
}

function isRefusal(error: unknown, ...codes: AppError['code'][]): error is AppError {
  return error instanceof AppError && codes.includes(error.code);
}
