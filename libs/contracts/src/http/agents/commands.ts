import {
  AnyJsonField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntField,
  JsonField,
  ListField,
  QueryIntField,
  TextField,
  TextMapField,
  UrlField,
  UuidField,
} from '../fields';
import { PageQuery } from '../pages';
import { IgnoreUnknownFields } from '../unknown-fields';
import { type CommandKind, commandKinds } from './agent-words';

/** A command as it travels, by push or by poll. */
export class AgentCommand {
  @UuidField() commandId!: string;
  @EnumField(commandKinds) kind!: CommandKind;
  @UuidField() agentId!: string;
  @UuidField() organizationId!: string;
  @UuidField({ optional: true }) jobId?: string;
  @DateTimeField({ description: 'After this it is no longer wanted.' }) deadline!: string;
  @TextMapField({ description: 'What it finds in its environment, secrets included.' }) env!: Record<string, string>;
  @JsonField({ description: 'What it is about; secretNames says which of env must never be shown.' })
  payload!: Record<string, unknown>;
}

export class AgentCommandList {
  @ListField(() => AgentCommand) commands!: AgentCommand[];
}

export class CommandPollQuery {
  @QueryIntField({ optional: true, max: 25, description: 'Seconds to wait for a command; 0 when absent.' })
  wait?: number;
}

@IgnoreUnknownFields()
export class CommandResultBody {
  @EnumField(['success', 'failed']) status!: 'success' | 'failed';
  @AnyJsonField({
    optional: true,
    nullable: true,
    maxBytes: 10_485_760,
    description: 'A text of at most 4 MiB, or a JSON object.',
  })
  output?: unknown;
  @TextField({ optional: true, nullable: true, min: 0, max: 100_000 }) error?: string | null;
  @TextField({ optional: true, nullable: true, min: 0, max: 100 }) code?: string | null;
  @IntField({ optional: true, nullable: true, min: -2_147_483_648, example: 0 }) exitCode?: number | null;
}

@IgnoreUnknownFields()
export class CommandOutputBody {
  @TextField({ min: 0, max: 65_536, description: 'What it has printed until now; its end, where that is longer.' })
  output!: string;
}

export class CommandReceipt {
  @BooleanField({ description: 'Whether it counted.' }) accepted!: boolean;
  @TextField({ optional: true, example: 'already finished' }) reason?: string;
}

export class CommandStarted {
  @UuidField() commandId!: string;
}

export class CommandStatusQuery {
  @UuidField({ description: 'As the request that began it answered.' }) commandId!: string;
}

export class SnippetStatusQuery extends CommandStatusQuery {
  @QueryIntField({
    optional: true,
    max: 25,
    description: 'Seconds to wait for its end, or for other output than the caller has; 0 when absent.',
  })
  wait?: number;
  @QueryIntField({
    optional: true,
    description: 'With wait: how long the output is that the caller has. 0 when absent.',
  })
  seen?: number;
}

export class CommandStatus {
  @EnumField(['pending', 'success', 'failed']) status!: 'pending' | 'success' | 'failed';
  @TextField({
    optional: true,
    min: 0,
    max: 4_194_304,
    example: '42\n',
    description: 'While it is pending: what code has printed until now, or the end of that.',
  })
  output?: string;
  @TextField({ optional: true, min: 0, max: 100_000, example: 'NameError: name x is not defined' }) error?: string;
  @TextField({ optional: true, example: 'execution_timeout' }) code?: string;
}

const commandStatuses = ['pending', 'success', 'failed'] as const;

export class CommandQuery extends PageQuery {
  @EnumField(commandStatuses, { optional: true }) status?: (typeof commandStatuses)[number];
  @EnumField(commandKinds, { optional: true }) kind?: CommandKind;
  @TextField({ optional: true, max: 200, description: 'A part of its error, or the id of it or its job.' }) q?: string;
}

/** What was asked of a machine, and what came of it; neither what it carried nor what it answered. */
export class CommandEntry {
  @UuidField() commandId!: string;
  @EnumField(commandKinds, { example: 'snippet' }) kind!: CommandKind;
  @EnumField(commandStatuses, { example: 'success' }) status!: (typeof commandStatuses)[number];
  @UuidField({ nullable: true }) jobId!: string | null;
  @TextField({ nullable: true, min: 0, max: 1000, description: 'Its beginning, where it is long.', example: null })
  error!: string | null;
  @TextField({ nullable: true, example: 'execution_timeout' }) code!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true, description: 'When the machine had it.' }) takenAt!: string | null;
  @DateTimeField({ description: 'After this it is no longer wanted.' }) deadline!: string;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}

export class CommandHistory {
  @ListField(() => CommandEntry) commands!: CommandEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class RunSnippetBody {
  @TextField({ max: 500_000, description: 'Python.', example: 'print(6 * 7)' }) code!: string;
  @IntField({ optional: true, min: 1000, max: 3_600_000, example: 60_000, description: '10 minutes when absent.' })
  timeoutMs?: number;
}

export class RunFunctionBody {
  @UuidField({ optional: true, description: 'This or name.' }) functionId?: string;
  @TextField({ optional: true, description: 'This or functionId.' }) name?: string;
  @JsonField({ optional: true, description: 'What the function finds in args.' }) args?: Record<string, unknown>;
}

const lineage = { optional: true, max: 500 };

export class RunBuilderBody {
  @TextField({ max: 100, example: 'discover' }) phase!: string;
  @TextField({ optional: true, max: 100, description: 'practice when absent.', example: 'practice' }) portal?: string;
  @TextField({ optional: true, max: 500_000, description: 'Python; absent means the stored snippet of the phase.' })
  code?: string;
  @UrlField({ optional: true, description: 'Where the worker calls back; PUBLIC_APP_URL when absent.' })
  serviceBaseUrl?: string;
  @TextField(lineage) workflowPackId?: string;
  @TextField(lineage) workflowPackVersionId?: string;
  @TextField(lineage) workflowPackInstallationId?: string;
  @TextField(lineage) runtimeBundleId?: string;
  @TextField({ ...lineage, max: 1024 }) runtimeBundleManifestKey?: string;
}

export class BuilderStarted extends CommandStarted {
  @UuidField() sessionId!: string;
  @TextField({ max: 500, description: 'The session’s own folder on the machine.', example: 'builder/0192f0c4' })
  runRoot!: string;
}

export class AgentScriptBody {
  @EnumField(['push', 'fetch'], { description: 'People push; a machine fetches, with its worker key.' })
  action!: 'push' | 'fetch';
  @UuidField({ optional: true, description: 'push: whose script.' }) workflowId?: string;
  @TextField({ optional: true, max: 900_000, description: 'push: the script itself.' }) script?: string;
  @TextField({ optional: true, max: 200, pattern: /^[A-Za-z0-9][A-Za-z0-9._ -]*$/ }) filename?: string;
  @UuidField({ optional: true, description: 'fetch: of which command.' }) commandId?: string;
  @UuidField({ optional: true, description: 'fetch: of which job.' }) jobId?: string;
}

export class AgentScript {
  @UuidField() commandId!: string;
  @UuidField({ nullable: true }) jobId!: string | null;
  @EnumField(commandKinds) kind!: CommandKind;
  @JsonField() payload!: Record<string, unknown>;
}
