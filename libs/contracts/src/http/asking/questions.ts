import {
  AnyJsonField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  JsonListField,
  ListField,
  QueryIntField,
  TextField,
  TextListField,
  UuidField,
} from '../fields';
import { listOrders, PageQuery } from '../pages';
import { IgnoreUnknownFields } from '../unknown-fields';
import {
  type AnswerWay,
  answerWays,
  type QuestionKind,
  questionKinds,
  type QuestionStatus,
  questionStatuses,
} from './question-words';

const audience =
  'Who may answer: role:member and the like, or e-mail addresses of users; every member where it is empty.';
const formFields = {
  maxItems: 50,
  example: [{ name: 'approvedBy', label: 'Approved by' }],
  description:
    'Of a form: each {name, label?, type?: text|number|boolean|choice, choices?, required?}; required unless said.',
};

@IgnoreUnknownFields()
export class AskQuestionBody {
  @TextField({
    max: 200,
    example: 'portal-code-1',
    description: 'The same one in the same run answers the question that it made first.',
  })
  questionKey!: string;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @TextListField({
    optional: true,
    nullable: true,
    minItems: 1,
    maxItems: 50,
    max: 500,
    example: ['Send', 'Do not send'],
    description: 'What may be chosen; of the kind choice alone.',
  })
  choices?: string[] | null;
  @JsonListField({ ...formFields, optional: true, nullable: true })
  fields?: Record<string, unknown>[] | null;
  @TextListField({
    optional: true,
    nullable: true,
    maxItems: 50,
    max: 254,
    example: ['role:member'],
    description: audience,
  })
  to?: string[] | null;
  @IntField({
    min: 1,
    max: 604_800,
    example: 600,
    description: 'It expires after so long, and no later than the run’s maximum runtime ends.',
  })
  timeoutSeconds!: number;
  @AnyJsonField({
    optional: true,
    nullable: true,
    maxBytes: 65_536,
    example: null,
    description: 'What the script goes on with where nobody answers.',
  })
  default?: unknown;
  @JsonField({ optional: true, nullable: true, example: { claimId: 'C-1042' } })
  context?: Record<string, unknown> | null;
  @TextField({ optional: true, nullable: true, max: 1024, example: null, description: 'The key of an upload.' })
  screenshotKey?: string | null;
  @TextField({
    optional: true,
    nullable: true,
    max: 100,
    example: null,
    description: 'The name of an inbound address: the first code that comes there from now on answers it.',
  })
  inbound?: string | null;
  @IntField({
    optional: true,
    nullable: true,
    max: 600_000,
    example: 0,
    description: 'How long ago the script asked: what came to the inbound address since then counts.',
  })
  askedMsAgo?: number | null;
}

export class AskedQuestion {
  @UuidField() questionId!: string;
  @EnumField(questionStatuses) status!: QuestionStatus;
  @DateTimeField() expiresAt!: string;
  @BooleanField({
    example: false,
    description: 'Its timeout was longer than what is left of the run’s maximum runtime, and was cut to that.',
  })
  cut!: boolean;
}

export class Question {
  @UuidField() id!: string;
  @UuidField({ nullable: true, description: 'Null for a question of an autopilot session.' }) jobId!: string | null;
  @UuidField({ nullable: true, description: 'The autopilot session that asks.' }) sessionId!: string | null;
  @UuidField() agentId!: string;
  @UuidField({ nullable: true }) workflowId!: string | null;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @TextListField({ nullable: true, max: 500, example: null }) choices!: string[] | null;
  @JsonListField({ ...formFields, nullable: true }) fields!: Record<string, unknown>[] | null;
  @TextListField({ max: 254, example: [], description: audience }) to!: string[];
  @EnumField(questionStatuses) status!: QuestionStatus;
  @AnyJsonField({ nullable: true, example: null, description: 'Null for the kind code: codes are never shown.' })
  answer!: unknown;
  @TextField({ nullable: true, max: 500, example: null, description: 'An e-mail address, a key, or a sender.' })
  answeredBy!: string | null;
  @EnumField(answerWays, { nullable: true, example: null }) answeredVia!: AnswerWay | null;
  @TextField({ nullable: true, max: 500, example: null, description: 'Why it was declined, or cancelled.' })
  reason!: string | null;
  @DateTimeField() askedAt!: string;
  @DateTimeField({ nullable: true, example: null }) answeredAt!: string | null;
  @DateTimeField() expiresAt!: string;
  @BooleanField({ example: false, description: 'Its timeout was cut to what was left of the run’s maximum runtime.' })
  cut!: boolean;
  @TextField({ nullable: true, max: 4096, example: null, description: 'Valid for an hour.' }) screenshotUrl!:
    string | null;
  @JsonField({ nullable: true, example: { claimId: 'C-1042' } }) context!: Record<string, unknown> | null;
}

export class QuestionList {
  @ListField(() => Question) questions!: Question[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class QuestionsQuery extends PageQuery {
  @EnumField(questionStatuses, { optional: true }) status?: QuestionStatus;
  @UuidField({ optional: true }) jobId?: string;
  @EnumField(['true', 'false'], { optional: true, description: 'Only those that the caller may answer.' })
  mine?: 'true' | 'false';
  @EnumField(listOrders, { optional: true, description: 'desc when absent: the newest first.' })
  order?: (typeof listOrders)[number];
}

export class AwaitAnswerQuery {
  @QueryIntField({ optional: true, max: 25, description: 'Seconds to wait for its end; 0 when absent.' })
  wait?: number;
}

/** A question as the worker of its run reads it: with the answer, codes too. */
export class QuestionForWorker {
  @UuidField() questionId!: string;
  @TextField({ example: 'portal-code-1' }) questionKey!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @EnumField(questionStatuses) status!: QuestionStatus;
  @AnyJsonField({ nullable: true, description: 'Null until it is answered.' }) answer!: unknown;
  @TextField({ nullable: true, max: 500, example: null }) reason!: string | null;
  @DateTimeField() expiresAt!: string;
}

export class AnswerQuestionBody {
  @AnyJsonField({
    maxBytes: 262_144,
    example: '482913',
    description:
      'code: 4 to 10 letters and digits; text: a text; choice: one of the choices; confirm: true or false; form: an object of its fields.',
  })
  answer!: unknown;
}

export class DeclineQuestionBody {
  @TextField({ optional: true, nullable: true, max: 500, example: 'The phone is not here' }) reason?: string | null;
}

/** What a run waits for a person with, on the run. */
export class JobAsking {
  @UuidField() questionId!: string;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @DateTimeField() since!: string;
  @DateTimeField() expiresAt!: string;
}
