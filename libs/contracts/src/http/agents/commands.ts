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

/** A command as a worker receives it, by push or by poll. */
export class AgentCommand {
  @UuidField() commandId!: string;
  @EnumField(commandKinds) kind!: CommandKind;
  @UuidField() agentId!: string;
  @UuidField() organizationId!: string;
  @UuidField({ optional: true }) jobId?: string;
  @DateTimeField({ description: 'Time after which the command expires.' }) deadline!: string;
  @TextMapField({ description: 'Environment variables of the command, including the values of secrets.' })
  env!: Record<string, string>;
  @JsonField({
    description:
      'Parameters of the command. `secretNames` lists the variables of `env` whose values the worker must never ' +
      'show.',
  })
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
  @TextField({
    min: 0,
    max: 65_536,
    description: 'Everything that the code has printed so far; only the end, if it is too long.',
  })
  output!: string;
}

export class CommandReceipt {
  @BooleanField({
    description:
      'Whether the service stored the report. false: the command had already ended, or the report was a repeat.',
  })
  accepted!: boolean;
  @TextField({ optional: true, example: 'already finished' }) reason?: string;
}

export class CommandStarted {
  @UuidField() commandId!: string;
}

export class CommandStatusQuery {
  @UuidField({ description: 'ID from the response of the request that created the command.' }) commandId!: string;
}

export class SnippetStatusQuery extends CommandStatusQuery {
  @QueryIntField({
    optional: true,
    max: 25,
    description: 'Maximum number of seconds to wait until the command ends or has new output; 0 when absent.',
  })
  wait?: number;
  @QueryIntField({
    optional: true,
    description: 'Length of the output that the caller already has, used together with wait; 0 when absent.',
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
    description:
      'Output of the command. While the command is pending: what the code has printed so far, or the last part of it.',
  })
  output?: string;
  @TextField({ optional: true, min: 0, max: 100_000, example: 'NameError: name x is not defined' }) error?: string;
  @TextField({ optional: true, example: 'execution_timeout' }) code?: string;
}

const commandStatuses = ['pending', 'success', 'failed'] as const;

export class CommandQuery extends PageQuery {
  @EnumField(commandStatuses, { optional: true }) status?: (typeof commandStatuses)[number];
  @EnumField(commandKinds, { optional: true }) kind?: CommandKind;
  @TextField({ optional: true, max: 200, description: 'Part of the error, or the ID of the command or of its job.' })
  q?: string;
}

/** One command of an agent and its outcome, without its payload and its output. */
export class CommandEntry {
  @UuidField() commandId!: string;
  @EnumField(commandKinds, { example: 'snippet' }) kind!: CommandKind;
  @EnumField(commandStatuses, { example: 'success' }) status!: (typeof commandStatuses)[number];
  @UuidField({ nullable: true }) jobId!: string | null;
  @TextField({
    nullable: true,
    min: 0,
    max: 1000,
    description: 'Error message, cut to its first 1,000 characters.',
    example: null,
  })
  error!: string | null;
  @TextField({ nullable: true, example: 'execution_timeout' }) code!: string | null;
  @DateTimeField() createdAt!: string;
  @DateTimeField({ nullable: true, description: 'Time at which the worker acknowledged the command.' }) takenAt!:
    string | null;
  @DateTimeField({ description: 'Time after which the command expires.' }) deadline!: string;
  @DateTimeField({ nullable: true }) finishedAt!: string | null;
}

export class CommandHistory {
  @ListField(() => CommandEntry) commands!: CommandEntry[];
  @TextField({ nullable: true }) nextCursor!: string | null;
}

export class RunSnippetBody {
  @TextField({ max: 500_000, description: 'Python code to run.', example: 'print(6 * 7)' }) code!: string;
  @IntField({
    optional: true,
    min: 1000,
    max: 3_600_000,
    example: 60_000,
    description: 'Time limit in milliseconds; 10 minutes when absent.',
  })
  timeoutMs?: number;
}

export class RunFunctionBody {
  @UuidField({ optional: true, description: 'ID of the function. Send either functionId or name.' })
  functionId?: string;
  @TextField({ optional: true, description: 'Name of the function. Send either functionId or name.' }) name?: string;
  @JsonField({ optional: true, description: 'Arguments, which the function receives in args.' }) args?: Record<
    string,
    unknown
  >;
}

const lineage = { optional: true, max: 500 };

export class RunBuilderBody {
  @TextField({ max: 100, example: 'discover' }) phase!: string;
  @TextField({
    optional: true,
    max: 100,
    description: 'Name of the portal; practice when absent.',
    example: 'practice',
  })
  portal?: string;
  @TextField({
    optional: true,
    max: 500_000,
    description: 'Python code of the phase. When absent, the stored function builder:<portal>:<phase> is run.',
  })
  code?: string;
  @UrlField({
    optional: true,
    description: 'Base URL to which the worker sends its reports; PUBLIC_APP_URL when absent.',
  })
  serviceBaseUrl?: string;
  @TextField(lineage) workflowPackId?: string;
  @TextField(lineage) workflowPackVersionId?: string;
  @TextField(lineage) workflowPackInstallationId?: string;
  @TextField(lineage) runtimeBundleId?: string;
  @TextField({ ...lineage, max: 1024 }) runtimeBundleManifestKey?: string;
}

export class BuilderStarted extends CommandStarted {
  @UuidField() sessionId!: string;
  @TextField({
    max: 500,
    description: 'Folder on the machine in which the code of this phase runs.',
    example: 'builder/0192f0c4',
  })
  runRoot!: string;
}

export class AgentScriptBody {
  @EnumField(['push', 'fetch'], {
    description:
      'push sends a script to the agent and needs a user or a key of scope api. fetch returns a script to the ' +
      'machine and needs its worker key.',
  })
  action!: 'push' | 'fetch';
  @UuidField({
    optional: true,
    description: 'For `push`: ID of the workflow whose script is sent. Send either workflowId or script.',
  })
  workflowId?: string;
  @TextField({
    optional: true,
    max: 900_000,
    description: 'For `push`: text of the script. Send either workflowId or script.',
  })
  script?: string;
  @TextField({ optional: true, max: 200, pattern: /^[A-Za-z0-9][A-Za-z0-9._ -]*$/ }) filename?: string;
  @UuidField({ optional: true, description: 'For `fetch`: ID of the command to read. Send either commandId or jobId.' })
  commandId?: string;
  @UuidField({
    optional: true,
    description: 'For `fetch`: ID of the job whose newest command is read. Send either commandId or jobId.',
  })
  jobId?: string;
}

export class AgentScript {
  @UuidField() commandId!: string;
  @UuidField({ nullable: true }) jobId!: string | null;
  @EnumField(commandKinds) kind!: CommandKind;
  @JsonField() payload!: Record<string, unknown>;
}
