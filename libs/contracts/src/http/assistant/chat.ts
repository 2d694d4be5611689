import {
  AnyJsonField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  NumberField,
  ObjectField,
  TextField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import { type Role, roles } from '../roles';

export class ChatBody {
  @TextField({ max: 8000, example: 'Why does the last run wait?' }) message!: string;
  @UuidField({ optional: true, description: 'The conversation that it goes on with; a new one when absent.' })
  sessionId?: string;
  @BooleanField({
    optional: true,
    description: 'When a session begins, by an admin: what its tools change needs no confirmation.',
  })
  autoConfirm?: boolean;
}

const chatCallStatuses = ['done', 'failed', 'needs_confirmation', 'running'] as const;

/** What became of a tool that was called. */
export class ChatCallOutcome {
  @UuidField() id!: string;
  @EnumField(chatCallStatuses) status!: (typeof chatCallStatuses)[number];
  @AnyJsonField({ optional: true, description: 'What the tool answered; cut where it is long, which it then says.' })
  result?: unknown;
  @TextField({ optional: true, max: 2000, example: 'There is no such job.' }) error?: string;
  @TextField({ optional: true, example: 'not_found' }) code?: string;
  @UuidField({ optional: true, description: 'needs_confirmation: what manage decides it by.' }) confirmationId?: string;
  @DateTimeField({ optional: true, description: 'needs_confirmation: until when.' }) expiresAt?: string;
}

export class ChatToolCall extends ChatCallOutcome {
  @TextField({ example: 'explain_waiting' }) tool!: string;
  @JsonField({ example: {} }) arguments!: Record<string, unknown>;
}

export class ChatUsage {
  @IntField() inputTokens!: number;
  @IntField() outputTokens!: number;
  @NumberField({ example: 0.0031 }) costUsd!: number;
}

export class ChatAnswer {
  @UuidField() sessionId!: string;
  @TextField({ min: 0, max: 200_000 }) reply!: string;
  @ListField(() => ChatToolCall, { maxItems: 12 }) toolCalls!: ChatToolCall[];
  @ObjectField(() => ChatUsage) usage!: ChatUsage;
}

export class ChatQuery extends PageQuery {
  @UuidField({ optional: true, description: 'The messages of this session; the list of sessions when absent.' })
  sessionId?: string;
}

class ChatSession {
  @UuidField() sessionId!: string;
  @TextField({ max: 80, description: 'How its first message begins.' }) title!: string;
  @DateTimeField() updatedAt!: string;
}

const unfinished = ['running', 'failed', 'left', 'interrupted'] as const;

export class ChatMessage {
  @EnumField(['user', 'assistant']) role!: 'user' | 'assistant';
  @TextField({ min: 0, max: 200_000 }) content!: string;
  @ListField(() => ChatToolCall, { optional: true, maxItems: 12 }) toolCalls?: ChatToolCall[];
  @DateTimeField() at!: string;
  @EnumField(unfinished, {
    optional: true,
    description: 'Of an answer that is not whole: why. left: its reader went away; interrupted: its process died.',
  })
  status?: (typeof unfinished)[number];
  @TextField({ optional: true, max: 2000 }) error?: string;
  @TextField({ optional: true, example: 'model_failed' }) code?: string;
}

/** Of one session its messages, otherwise the sessions. */
export class ChatHistory {
  @UuidField({ optional: true }) sessionId?: string;
  @ListField(() => ChatMessage, { optional: true, description: 'The oldest of the page first.' })
  messages?: ChatMessage[];
  @ListField(() => ChatSession, { optional: true, description: 'Lately used first.' }) sessions?: ChatSession[];
  @TextField({ nullable: true, description: 'Of messages: leads to the older ones.' }) nextCursor!: string | null;
}

// The data of each event of a stream: session, token, tool_call, tool_result, usage, done, error.

export class ChatSessionEvent {
  @UuidField() sessionId!: string;
}

export class ChatTokenEvent {
  @TextField({ max: 65_536 }) text!: string;
}

export class ChatToolCallEvent {
  @UuidField() id!: string;
  @TextField({ example: 'get_status' }) tool!: string;
  @JsonField({ example: {} }) arguments!: Record<string, unknown>;
}

/** What became of it. */
export class ChatToolResultEvent extends ChatCallOutcome {}

export class ChatDoneEvent {
  @TextField({ min: 0, max: 200_000 }) reply!: string;
}

export class ChatErrorEvent {
  @TextField({ example: 'model_failed' }) code!: string;
  @TextField({ max: 2000 }) detail!: string;
}

export class ManageBody {
  @TextField({ optional: true, max: 100, example: 'list', description: 'A tool, or list for what there is.' })
  tool?: string;
  @JsonField({ optional: true, description: 'What the tool takes.' }) arguments?: Record<string, unknown>;
  @UuidField({ optional: true, description: 'In place of a tool: a call of a chat that waits for this.' })
  confirmationId?: string;
  @BooleanField({ optional: true, description: 'With confirmationId: whether it may be.' }) approve?: boolean;
}

export class AssistantTool {
  @TextField({ example: 'run_workflow' }) name!: string;
  @TextField({ max: 2000 }) description!: string;
  @JsonField({ description: 'A JSON schema.' }) parameters!: Record<string, unknown>;
  @EnumField(roles) role!: Role;
  @BooleanField({ description: 'Whether it changes something: in a chat it then needs a confirmation.' })
  changes!: boolean;
}

/** What became of the tool, or the list of all of them. */
export class ManageAnswer {
  @TextField({ optional: true, example: 'get_status' }) tool?: string;
  @EnumField(['done', 'failed'], {
    optional: true,
    description: 'failed: the machine did what was asked, and it came to nothing.',
  })
  status?: 'done' | 'failed';
  @AnyJsonField({ optional: true, nullable: true, maxBytes: 8_388_608 }) result?: unknown;
  @TextField({ optional: true, max: 2000 }) error?: string;
  @TextField({ optional: true, example: 'confirmation_declined' }) code?: string;
  @ListField(() => AssistantTool, { optional: true }) tools?: AssistantTool[];
}
