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
import { type Permission, permissions } from '../permissions';
import { type Role, roles } from '../roles';

export class ChatBody {
  @TextField({ max: 8000, example: 'Why does the last run wait?' }) message!: string;
  @UuidField({ optional: true, description: 'Id of the session to continue; a new session is created if absent.' })
  sessionId?: string;
  @BooleanField({
    optional: true,
    description:
      'Whether tools are allowed to change something without a confirmation. It requires the permission ' +
      'agents.admin, and can be set only for a new session.',
  })
  autoConfirm?: boolean;
}

const chatCallStatuses = ['done', 'failed', 'needs_confirmation', 'running'] as const;

/** Outcome of a tool call. */
export class ChatCallOutcome {
  @UuidField() id!: string;
  @EnumField(chatCallStatuses) status!: (typeof chatCallStatuses)[number];
  @AnyJsonField({
    optional: true,
    description: 'Result of the tool. A long result is shortened and has a member `cut`.',
  })
  result?: unknown;
  @TextField({
    optional: true,
    max: 2000,
    example: 'The organization has no job with this id. List the jobs to find the id.',
  })
  error?: string;
  @TextField({ optional: true, example: 'not_found' }) code?: string;
  @UuidField({
    optional: true,
    description:
      'If the status is needs_confirmation: id to send to POST /api/agents/{id}/manage with `approve`, to approve or decline the ' +
      'call.',
  })
  confirmationId?: string;
  @DateTimeField({
    optional: true,
    description: 'If the status is needs_confirmation: time until which the call can be approved.',
  })
  expiresAt?: string;
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
  @UuidField({
    optional: true,
    description: 'Id of the session whose messages are returned. If absent, the sessions are listed.',
  })
  sessionId?: string;
}

class ChatSession {
  @UuidField() sessionId!: string;
  @TextField({ max: 80, description: 'Beginning of the session’s first message.' }) title!: string;
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
    description:
      'Why the answer is incomplete; absent if it is complete. left: the client disconnected. interrupted: the ' +
      'process of the service that wrote the answer ended.',
  })
  status?: (typeof unfinished)[number];
  @TextField({ optional: true, max: 2000 }) error?: string;
  @TextField({ optional: true, example: 'model_failed' }) code?: string;
}

/** Messages of one session, or the list of sessions if no session was requested. */
export class ChatHistory {
  @UuidField({ optional: true }) sessionId?: string;
  @ListField(() => ChatMessage, { optional: true, description: 'Messages of this page, oldest first.' })
  messages?: ChatMessage[];
  @ListField(() => ChatSession, {
    optional: true,
    description: 'Sessions of the caller with this agent, most recently used first.',
  })
  sessions?: ChatSession[];
  @TextField({
    nullable: true,
    description: 'Cursor of the next page; null on the last one. For messages, the next page contains older ones.',
  })
  nextCursor!: string | null;
}

// The data of each event type of a chat stream: session, token, tool_call, tool_result, usage, done, error.

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

export class ChatToolResultEvent extends ChatCallOutcome {}

export class ChatDoneEvent {
  @TextField({ min: 0, max: 200_000 }) reply!: string;
}

export class ChatErrorEvent {
  @TextField({ example: 'model_failed' }) code!: string;
  @TextField({ max: 2000 }) detail!: string;
}

export class ManageBody {
  @TextField({
    optional: true,
    max: 100,
    example: 'list',
    description: 'Name of the tool to call, or list to list the tools.',
  })
  tool?: string;
  @JsonField({ optional: true, description: 'Arguments of the tool.' }) arguments?: Record<string, unknown>;
  @UuidField({
    optional: true,
    description: 'Id of a chat’s tool call that waits for a confirmation. Specify it in place of a tool.',
  })
  confirmationId?: string;
  @BooleanField({ optional: true, description: 'true approves the call of confirmationId, false declines it.' })
  approve?: boolean;
}

export class AssistantTool {
  @TextField({ example: 'run_workflow' }) name!: string;
  @TextField({ max: 2000 }) description!: string;
  @JsonField({ description: 'JSON schema of the arguments.' }) parameters!: Record<string, unknown>;
  @EnumField(roles, { description: 'The lowest of the four roles that may use the tool.' }) role!: Role;
  @EnumField(permissions, { example: 'runs.write', description: 'Permission to use the tool.' })
  permission!: Permission;
  @BooleanField({
    description:
      'Whether the tool changes something. If so, a chat asks for a confirmation, unless autoConfirm is set.',
  })
  changes!: boolean;
}

/** Outcome of a tool call, or the list of all tools. */
export class ManageAnswer {
  @TextField({ optional: true, example: 'get_status' }) tool?: string;
  @EnumField(['done', 'failed'], {
    optional: true,
    description: '`failed` means that the tool failed on the machine, or that the call was declined.',
  })
  status?: 'done' | 'failed';
  @AnyJsonField({ optional: true, nullable: true, maxBytes: 8_388_608 }) result?: unknown;
  @TextField({ optional: true, max: 2000 }) error?: string;
  @TextField({ optional: true, example: 'confirmation_declined' }) code?: string;
  @ListField(() => AssistantTool, { optional: true }) tools?: AssistantTool[];
}
