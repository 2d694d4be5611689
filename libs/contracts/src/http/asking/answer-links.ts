import { AnyJsonField, DateTimeField, EnumField, JsonListField, TextField, TextListField } from '../fields';
import { type QuestionKind, questionKinds, type QuestionStatus, questionStatuses } from './question-words';

export class AnswerLinkBody {
  @TextField({ min: 1, max: 1000, description: 'What follows /a/ in the link of a message.' }) token!: string;
}

export class AnswerByLinkBody extends AnswerLinkBody {
  @AnyJsonField({ maxBytes: 262_144, example: '482913', description: 'As POST /api/questions/{id}/answer takes it.' })
  answer!: unknown;
}

/** A question as whoever has its link sees it: nothing else of the organization. */
export class LinkedQuestion {
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @TextListField({ nullable: true, max: 500, example: null }) choices!: string[] | null;
  @JsonListField({ nullable: true, example: null, description: 'As in GET /api/questions/{id}.' })
  fields!: Record<string, unknown>[] | null;
  @EnumField(questionStatuses) status!: QuestionStatus;
  @DateTimeField() askedAt!: string;
  @DateTimeField() expiresAt!: string;
  @TextField({
    nullable: true,
    max: 4096,
    example: null,
    description: 'Valid for an hour, while the question is open.',
  })
  screenshotUrl!: string | null;
}
