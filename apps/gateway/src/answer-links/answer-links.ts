import { Inject, Injectable } from '@nestjs/common';
import { SignInConfig } from '@muster/access';
import { Database } from '@muster/database';
import { type Answerer, answerQuestion, findQuestionByAnswerLink, type QuestionRow } from '@muster/jobs';
import { Attempts } from '@muster/platform';
import { KeyRing } from '@muster/vault';

/** The question of an answer link, and the recipient of the link as the answerer. */
export interface LinkedRow {
  row: QuestionRow;
  answerer: Answerer;
}

/** Finds and answers the questions of answer links, for the API and for the page. */
@Injectable()
export class AnswerLinks {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(KeyRing) private readonly keyRing: KeyRing,
    @Inject(Attempts) private readonly attempts: Attempts,
    @Inject(SignInConfig) private readonly config: SignInConfig,
  ) {}

  /** The number of wrong tokens per client address is limited, in the same way as failed sign-ins. */
  async findQuestion(address: string, token: string): Promise<LinkedRow> {
    const policy = { name: 'answer-links', limit: this.config.rateLimitFailedLoginsPerMinute, windowSeconds: 60 };
    const attempt = await this.attempts.countAttempt(policy, [`address:${address}`]);
    const found = await findQuestionByAnswerLink(this.database, this.keyRing, token);
    attempt.forgive();
    return found;
  }

  /** Answers the question. Throws if the answer does not fit, or if the question is already answered or has ended. */
  answerQuestion({ row, answerer }: LinkedRow, answer: unknown): Promise<QuestionRow> {
    const { organizationId, id } = row;
    return this.database.transaction({ organizationId }, (tx) =>
      answerQuestion(tx, this.keyRing, answerer, { id, answer }),
    );
  }
}
