import {
  AnyJsonField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  JsonListField,
  ListField,
  ObjectField,
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
  'Users who are allowed to answer: role:viewer, role:member, role:admin, or email addresses of users. When empty, ' +
  'every member is allowed to answer.';
const formFields = {
  maxItems: 50,
  example: [{ name: 'approvedBy', label: 'Approved by' }],
  description:
    'Fields of a form: {name, label?, type?: text|number|boolean|choice, choices?, required?}. type is text and ' +
    'required is true when absent.',
};

@IgnoreUnknownFields()
export class AskQuestionBody {
  @TextField({
    max: 200,
    example: 'portal-code-1',
    description:
      'Key of the question, unique within the run. A repeated request with the same key returns the existing question.',
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
    description: 'Choices of a question of the kind choice.',
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
    description:
      'Number of seconds after which the question expires. If the run reaches its maximum runtime earlier, the ' +
      'question expires at that time.',
  })
  timeoutSeconds!: number;
  @AnyJsonField({
    optional: true,
    nullable: true,
    maxBytes: 65_536,
    example: null,
    description: 'Value with which the script continues if the question is not answered.',
  })
  default?: unknown;
  @JsonField({ optional: true, nullable: true, example: { claimId: 'C-1042' } })
  context?: Record<string, unknown> | null;
  @TextField({
    optional: true,
    nullable: true,
    max: 1024,
    example: null,
    description: 'Key of an uploaded screenshot to show with the question.',
  })
  screenshotKey?: string | null;
  @TextField({
    optional: true,
    nullable: true,
    max: 100,
    example: null,
    description:
      'Name of an inbound address. The first code that arrives there after this request answers the question; an ' +
      'earlier one never does. Only for the kind code.',
  })
  inbound?: string | null;
  @BooleanField({
    optional: true,
    description: 'Whether the people who may answer can also use the run’s browser while the question is open.',
  })
  takeover?: boolean;
}

export class AskedQuestion {
  @UuidField() questionId!: string;
  @EnumField(questionStatuses) status!: QuestionStatus;
  @DateTimeField() expiresAt!: string;
  @BooleanField({
    example: false,
    description:
      'Whether the timeout of the question was shortened, because the run reaches its maximum runtime earlier.',
  })
  shortened!: boolean;
}

export class QuestionAnswerer {
  @TextField({
    nullable: true,
    max: 200,
    example: '0192f0c4-7b8e-7d3a-9c55-2f4a6b8c0d1e',
    description:
      'Id of the user, of the API key or of the inbound address. Null for a person without an account, who answered ' +
      'by a link.',
  })
  id!: string | null;
  @TextField({ optional: true, max: 254, example: 'dana@example.com', description: 'E-mail address of a person.' })
  email?: string;
  @TextField({
    optional: true,
    max: 500,
    example: 'Nightly import',
    description: 'Name of the API key, or the inbound address and the sender of the message.',
  })
  name?: string;
}

export class Question {
  @UuidField() id!: string;
  @UuidField({ nullable: true, description: 'Job that asks. Null for a question of an autopilot session.' }) jobId!:
    string | null;
  @UuidField({ nullable: true, description: 'Autopilot session that asks. Null for a question of a job.' }) sessionId!:
    string | null;
  @UuidField() agentId!: string;
  @UuidField({ nullable: true }) workflowId!: string | null;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @TextListField({ nullable: true, max: 500, example: null }) choices!: string[] | null;
  @JsonListField({ ...formFields, nullable: true }) fields!: Record<string, unknown>[] | null;
  @TextListField({ max: 254, example: [], description: audience }) to!: string[];
  @EnumField(questionStatuses) status!: QuestionStatus;
  @AnyJsonField({
    nullable: true,
    example: null,
    description: 'Answer to the question. Null if `kind` is `code`, because codes are never shown.',
  })
  answer!: unknown;
  @ObjectField(() => QuestionAnswerer, {
    nullable: true,
    description: 'Person, API key or message sender that answered or declined the question; null if nobody did.',
  })
  answeredBy!: QuestionAnswerer | null;
  @EnumField(answerWays, { nullable: true, example: null }) answeredVia!: AnswerWay | null;
  @TextField({
    nullable: true,
    max: 500,
    example: null,
    description: 'Reason why the question was declined or cancelled.',
  })
  reason!: string | null;
  @DateTimeField() askedAt!: string;
  @DateTimeField({ nullable: true, example: null }) answeredAt!: string | null;
  @DateTimeField() expiresAt!: string;
  @BooleanField({
    example: false,
    description:
      'Whether the timeout of the question was shortened, because the run reaches its maximum runtime earlier.',
  })
  shortened!: boolean;
  @BooleanField({
    example: false,
    description: 'Whether the people who may answer can also use the run’s browser while the question is open.',
  })
  takeover!: boolean;
  @TextField({
    nullable: true,
    max: 4096,
    example: null,
    description: 'Presigned URL of the screenshot, valid for one hour.',
  })
  screenshotUrl!: string | null;
  @JsonField({ nullable: true, example: { claimId: 'C-1042' } }) context!: Record<string, unknown> | null;
}

export class QuestionList {
  @ListField(() => Question) questions!: Question[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class QuestionsQuery extends PageQuery {
  @EnumField(questionStatuses, { optional: true }) status?: QuestionStatus;
  @UuidField({ optional: true }) jobId?: string;
  @EnumField(['true', 'false'], {
    optional: true,
    description: 'true: only questions that the caller is allowed to answer.',
  })
  mine?: 'true' | 'false';
  @EnumField(listOrders, { optional: true, description: 'Order by time; desc (newest first) when absent.' })
  order?: (typeof listOrders)[number];
}

export class AwaitAnswerQuery {
  @QueryIntField({
    optional: true,
    max: 25,
    description: 'Maximum number of seconds to wait until the question is answered or ends; 0 when absent.',
  })
  wait?: number;
}

/** A question as its run's worker reads it, with the answer even if it is a code. */
export class QuestionForWorker {
  @UuidField() questionId!: string;
  @TextField({ example: 'portal-code-1' }) questionKey!: string;
  @EnumField(questionKinds) kind!: QuestionKind;
  @EnumField(questionStatuses) status!: QuestionStatus;
  @AnyJsonField({ nullable: true, description: 'Answer to the question. Null until the question is answered.' })
  answer!: unknown;
  @TextField({ nullable: true, max: 500, example: null }) reason!: string | null;
  @DateTimeField() expiresAt!: string;
}

export class AnswerQuestionBody {
  @AnyJsonField({
    maxBytes: 262_144,
    example: '482913',
    description:
      'Answer in the format of the question’s kind. code: 4 to 10 letters and digits. text: a string. choice: one of ' +
      'the choices. confirm: true or false. form: an object with the values of its fields.',
  })
  answer!: unknown;
}

export class DeclineQuestionBody {
  @TextField({ optional: true, nullable: true, max: 500, example: 'The phone is not here' }) reason?: string | null;
}

/** The question that a run waits for, as part of the run. */
export class JobAsking {
  @UuidField() questionId!: string;
  @TextField({ max: 2000, example: 'Code from the phone' }) question!: string;
  @DateTimeField() since!: string;
  @DateTimeField() expiresAt!: string;
}
