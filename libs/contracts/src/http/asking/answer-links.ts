import { AnyJsonField, DateTimeField, EnumField, JsonListField, TextField, TextListField } from '../fields';
import { type QuestionKind, questionKinds, type QuestionStatus, questionStatuses } from './question-words';

export class AnswerLinkBody {
  @TextField({ min: 1, max: 1000, description: 'Token of the answer link: the part after /a/.' }) token!: string;
}

export class AnswerByLinkBody extends AnswerLinkBody {
  @AnyJsonField({
    maxBytes: 262_144,
    example: '482913',
    description: 'Answer in the format of POST /api/questions/{id}/answer.',
  })
  answer!: unknown;
}

/** A question as it is shown to a person with its answer link, without other data of the organization. */
export class LinkedQuestion {
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @TextListField({ nullable: true, max: 500, example: null }) choices!: string[] | null;
  @JsonListField({
    nullable: true,
    example: null,
    description: 'Fields of a form, in the format of GET /api/questions/{id}.',
  })
  fields!: Record<string, unknown>[] | null;
  @EnumField(questionStatuses) status!: QuestionStatus;
  @DateTimeField() askedAt!: string;
  @DateTimeField() expiresAt!: string;
  @TextField({
    nullable: true,
    max: 4096,
    example: null,
    description:
      'Presigned URL of the screenshot, valid for one hour. Null if the question has no screenshot or is not open.',
  })
  screenshotUrl!: string | null;
}
