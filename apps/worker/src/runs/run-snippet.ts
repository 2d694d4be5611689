import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parseBundle, getRunErrorCode } from '../bundles/bundle';
import type { BundleCache } from '../bundles/bundle-cache';
import { unpackBundleIntoRun } from '../bundles/unpack-bundle-into-run';
import { toPositiveNumberOrNull, toStringOrEmpty, type Command, type Result } from '../protocol/command';
import { launchScript, readExitCode } from '../host/launcher';
import { describeFailure } from './ends/describe-failure';
import { streamOutput } from './live-output';
import { cutToBytes } from './output-lines';
import { killProcesses, readProcess } from './processes';
import { Redactor } from './redactor';
import { createRunFolder, type SourceFiles } from './run-files';
import { buildScriptEnvironment, listSecretNames, listSecretValues, type WorkerFacts } from './script-environment';
import { getErrorMessage } from '../protocol/service';
import { closeTemporaryFolder, openTemporaryFolder } from '../host/short-folder';
import { waitUnlessAborted } from '../host/waiting';

const outputBytes = 4 * 1024 * 1024;
const latestBytes = 128 * 1024;
const pollMs = 25;
const killGraceMs = 2_000;
const defaultTimeoutMs = 3600_000;

/**
 * Python code that prints the outcome of the function that the command's code defines or, without that function, the
 * variable `result` of that code.
 */
const callFunction = `
import json
with open("arguments.json", encoding="utf-8") as file:
    call = json.load(file)
args = call["args"]
with open("function.py", encoding="utf-8") as file:
    code = file.read()
names = {"__name__": "muster_function", "args": args}
exec(compile(code, call["name"] or "function", "exec"), names)
function = names.get(call["name"])
if callable(function):
    if isinstance(args, dict):
        outcome = function(**args)
    elif isinstance(args, list):
        outcome = function(*args)
    else:
        outcome = function(args) if args is not None else function()
else:
    outcome = names.get("result")
print(json.dumps(outcome, default=str))
`;

export interface SnippetContext {
  facts: WorkerFacts;
  python: string;
  /** Aborted when the worker ends. The code that runs for commands is then ended too. */
  stopping: AbortSignal;
  bundles: BundleCache;
  /** Sends the output of a command's code so far. Resolves to false if the service accepts no more of it. */
  sendOutput: (commandId: string, output: string) => Promise<boolean>;
}

/** Code of the worker itself, which runs for a command instead of code from the command. */
export interface OwnCode {
  sources: SourceFiles;
  env: Record<string, string>;
  /** Names of the variables in `env` whose values must be redacted. */
  secretNames: string[];
  /** Folder of the code's Python modules, in addition to the command's folder. */
  pythonPath: string;
}

function getSourceFiles({ kind, payload }: Command): SourceFiles {
  // The URL of a bundle gives access to the bundle, so the code must not get the URL.
  const { code, bundle: _, ...inputs } = payload;
  if (kind !== 'function')
    return { script: toStringOrEmpty(code), inputs: { ...inputs, variables: inputs.variables ?? {} } };
  const argumentsJson = JSON.stringify({ name: toStringOrEmpty(payload.name), args: payload.args ?? null });
  return {
    script: callFunction,
    inputs: {},
    others: { 'function.py': toStringOrEmpty(code), 'arguments.json': argumentsJson },
  };
}

/** Runs the code of a command other than a run, possibly during a run, and returns the output of the code. */
export async function runSnippet(
  command: Command,
  folder: string,
  keep: boolean,
  context: SnippetContext,
  own?: OwnCode,
): Promise<Result> {
  const env = { ...buildScriptEnvironment(command, context.facts, folder), ...own?.env };
  if (own?.pythonPath) env['PYTHONPATH'] = [env['PYTHONPATH'], own.pythonPath].join(delimiter);
  const redactor = new Redactor(listSecretValues([...listSecretNames(command), ...(own?.secretNames ?? [])], env));
  try {
    createRunFolder(folder, own?.sources ?? getSourceFiles(command));
    const bundle = parseBundle(command.payload);
    if (bundle) await unpackBundleIntoRun(context.bundles, bundle, { root: folder, stop: context.stopping });
    // The output of the worker's own code is not streamed, because it may name the files that it reads.
    const executeContext = own ? { ...context, sendOutput: null } : context;
    return await executeSnippet(
      command,
      folder,
      { ...env, TMPDIR: openTemporaryFolder(folder) },
      redactor,
      executeContext,
    );
  } catch (error) {
    const code = getRunErrorCode(error);
    return { status: 'failed', error: redactor.redactText(getErrorMessage(error)), ...(code ? { code } : {}) };
  } finally {
    closeTemporaryFolder(folder);
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function executeSnippet(
  command: Command,
  folder: string,
  env: Record<string, string>,
  redactor: Redactor,
  {
    python,
    stopping,
    sendOutput,
  }: Pick<SnippetContext, 'python' | 'stopping'> & { sendOutput: SnippetContext['sendOutput'] | null },
): Promise<Result> {
  const timeoutMs = computeTimeout(command, Date.now());
  if (timeoutMs <= 0)
    return { status: 'failed', code: 'execution_timeout', error: 'the deadline had passed before the start' };
  const script = join(folder, 'script.py');
  const exitFile = join(folder, 'exit-code');
  const child = launchScript({ python, exitFile, script, cwd: folder, env, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = [child.stdout!, child.stderr!].map((stream) => collectOutput(stream));
  const root = child.pid === undefined ? null : readProcess(child.pid);
  const marker = { runId: command.commandId, root };

  let ended: 'by itself' | 'timeout' | 'stopped' = 'by itself';
  let killing: Promise<unknown> | undefined;
  const killSnippet = (why: typeof ended) => (): void => {
    ended = why;
    killing ??= killProcesses(marker, killGraceMs);
  };
  const timer = setTimeout(killSnippet('timeout'), Math.min(timeoutMs, 2 ** 31 - 1));
  const onStop = killSnippet('stopped');
  stopping.addEventListener('abort', onStop, { once: true });
  const launcherGone = new AbortController();
  const stopStreaming =
    sendOutput && streamOutput(stdout!, redactor, (output) => sendOutput(command.commandId, output));
  child.once('exit', () => launcherGone.abort());
  try {
    if (!root) await once(child, 'spawn');
    // The launcher does not exit by itself, so that all processes of the code stay its descendants.
    while (readExitCode(exitFile) === null && !launcherGone.signal.aborted)
      await waitUnlessAborted(pollMs, launcherGone.signal);
  } finally {
    stopStreaming?.();
    clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
  const exitCode = readExitCode(exitFile);
  await killing;
  // Kills the processes that the code left behind. After that, no process has the pipes open.
  await killProcesses(marker, killGraceMs);
  await Promise.all([stdout!.ended, stderr!.ended]);

  const output = cutOutput(redactor, stdout!);
  const result = { output, ...(exitCode === null ? {} : { exitCode }) };
  if ((ended as string) === 'timeout') {
    const error = `execution_timeout: the code took longer than ${timeoutMs} ms`;
    return { ...result, status: 'failed', code: 'execution_timeout', error };
  }
  if ((ended as string) === 'stopped') return { ...result, status: 'failed', error: 'the worker was stopped' };
  if (exitCode === 0) return { ...result, status: 'success' };
  const error = describeFailure(`exit code ${exitCode}`, redactor.redactText(stderr!.text()));
  return { ...result, status: 'failed', error };
}

function computeTimeout({ payload, deadline }: Command, now: number): number {
  const requestedMs = toPositiveNumberOrNull(payload.timeoutMs) ?? (deadline === null ? defaultTimeoutMs : Infinity);
  return Math.min(requestedMs, deadline === null ? Infinity : deadline - now);
}

interface Collected {
  text(): string;
  tail(bytes: number): string;
  total(): number;
  ended: Promise<void>;
}

/** Stores the beginning and the latest bytes of a stream, and counts all bytes. */
function collectOutput(stream: NodeJS.ReadableStream): Collected {
  const pieces: Buffer[] = [];
  let total = 0;
  let storedBytes = 0;
  let latest = Buffer.alloc(0);
  stream.on('data', (piece: Buffer) => {
    total += piece.length;
    latest = Buffer.concat([latest, piece]).subarray(-latestBytes);
    // Stores a little more than is sent, because a secret across the cut is found only if it is complete.
    if (storedBytes < outputBytes + 64 * 1024) pieces.push(piece);
    storedBytes += piece.length;
  });
  return {
    text: () => Buffer.concat(pieces).toString('utf8'),
    tail: (bytes) => latest.subarray(-bytes).toString('latin1'),
    total: () => total,
    ended: new Promise((resolve) => stream.once('close', () => resolve())),
  };
}

function cutOutput(redactor: Redactor, stdout: Collected): string {
  const bytes = Buffer.from(redactor.redactText(stdout.text()).replaceAll('\0', '\u{FFFD}'));
  if (bytes.length <= outputBytes && stdout.total() <= outputBytes + 64 * 1024) return bytes.toString('utf8');
  const note = `\n… [cut: the output has ${stdout.total()} bytes]`;
  return cutToBytes(bytes, outputBytes - Buffer.byteLength(note)) + note;
}
