import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { bundleOf, codeOf } from '../bundles/bundle';
import type { BundleCache } from '../bundles/bundle-cache';
import { placeBundle } from '../bundles/place-bundle';
import { positiveOf, textOf, type Command, type Result } from '../protocol/command';
import { launch, readExitCode } from '../host/launcher';
import { describeFailure } from './ends/describe-failure';
import { tellOutput } from './live-output';
import { cutBytes } from './output-lines';
import { killProcesses, readProcess } from './processes';
import { Redactor } from './redactor';
import { makeRunRoot, type SourceFiles } from './run-files';
import { scriptEnvironment, secretNamesOf, secretsOf, type WorkerFacts } from './script-environment';
import { messageOf } from '../protocol/service';
import { closeTemporaryFolder, openTemporaryFolder } from '../host/short-folder';
import { rest } from '../host/waiting';

const outputBytes = 4 * 1024 * 1024;
const latestBytes = 128 * 1024;
const pollMs = 25;
const killGraceMs = 2_000;
const defaultTimeoutMs = 3600_000;

/** Calls the function that the code defines, or takes the code itself for the function's body. */
const callFunction = `
import json
with open("arguments.json", encoding="utf-8") as file:
    given = json.load(file)
args = given["args"]
with open("function.py", encoding="utf-8") as file:
    code = file.read()
names = {"__name__": "muster_function", "args": args}
exec(compile(code, given["name"] or "function", "exec"), names)
function = names.get(given["name"])
if callable(function):
    if isinstance(args, dict):
        outcome = function(**args)
    elif isinstance(args, list):
        outcome = function(*args)
    else:
        outcome = function() if args is None else function(args)
else:
    outcome = names.get("result")
print(json.dumps(outcome, default=str))
`;

export interface SnippetContext {
  facts: WorkerFacts;
  python: string;
  /** Aborted: the worker ends, and everything that it runs with it. */
  stopping: AbortSignal;
  bundles: BundleCache;
  /** Tells the service what a command's code has printed until now; false: it wants to hear no more. */
  tell: (commandId: string, output: string) => Promise<boolean>;
}

/** What is to run for a command, where that is not the code that it brings. */
export interface OwnCode {
  sources: SourceFiles;
  env: Record<string, string>;
  /** Which of env must never be shown. */
  secretNames: string[];
  /** Where its modules are, beside the run's own folder. */
  pythonPath: string;
}

function sourcesOf({ kind, payload }: Command): SourceFiles {
  // The address of a bundle is a key to it.
  const { code, bundle: _, ...inputs } = payload;
  if (kind !== 'function') return { script: textOf(code), inputs: { ...inputs, variables: inputs.variables ?? {} } };
  const given = JSON.stringify({ name: textOf(payload.name), args: payload.args ?? null });
  return { script: callFunction, inputs: {}, others: { 'function.py': textOf(code), 'arguments.json': given } };
}

/** Runs code of a command other than a run, beside a run, and answers with what it printed. */
export async function runCode(
  command: Command,
  folder: string,
  keep: boolean,
  context: SnippetContext,
  own?: OwnCode,
): Promise<Result> {
  const env = { ...scriptEnvironment(command, context.facts, folder), ...own?.env };
  if (own?.pythonPath) env['PYTHONPATH'] = [env['PYTHONPATH'], own.pythonPath].join(delimiter);
  const redactor = new Redactor(secretsOf([...secretNamesOf(command), ...(own?.secretNames ?? [])], env));
  try {
    makeRunRoot(folder, own?.sources ?? sourcesOf(command));
    const bundle = bundleOf(command.payload);
    if (bundle) await placeBundle(context.bundles, bundle, { root: folder, stop: context.stopping });
    // What a program of our own prints may name what it reads.
    const shown = own ? { ...context, tell: null } : context;
    return await execute(command, folder, { ...env, TMPDIR: openTemporaryFolder(folder) }, redactor, shown);
  } catch (error) {
    const code = codeOf(error);
    return { status: 'failed', error: redactor.text(messageOf(error)), ...(code ? { code } : {}) };
  } finally {
    closeTemporaryFolder(folder);
    if (!keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function execute(
  command: Command,
  folder: string,
  env: Record<string, string>,
  redactor: Redactor,
  { python, stopping, tell }: Pick<SnippetContext, 'python' | 'stopping'> & { tell: SnippetContext['tell'] | null },
): Promise<Result> {
  const timeoutMs = timeoutOf(command, Date.now());
  if (timeoutMs <= 0)
    return { status: 'failed', code: 'execution_timeout', error: 'the deadline had passed before the start' };
  const script = join(folder, 'script.py');
  const exitFile = join(folder, 'exit-code');
  const child = launch({ python, exitFile, script, cwd: folder, env, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = [child.stdout!, child.stderr!].map((stream) => collect(stream));
  const root = child.pid === undefined ? null : readProcess(child.pid);
  const marker = { runId: command.commandId, root };

  let ended: 'by itself' | 'timeout' | 'stopped' = 'by itself';
  let killing: Promise<unknown> | undefined;
  const kill = (why: typeof ended) => (): void => {
    ended = why;
    killing ??= killProcesses(marker, killGraceMs);
  };
  const timer = setTimeout(kill('timeout'), Math.min(timeoutMs, 2 ** 31 - 1));
  const onStop = kill('stopped');
  stopping.addEventListener('abort', onStop, { once: true });
  const launcherGone = new AbortController();
  const endTelling = tell && tellOutput(stdout!, redactor, (output) => tell(command.commandId, output));
  child.once('exit', () => launcherGone.abort());
  try {
    if (!root) await once(child, 'spawn');
    // The launcher stays until we end it, so that nothing of the code gets out of its sight.
    while (readExitCode(exitFile) === null && !launcherGone.signal.aborted) await rest(pollMs, launcherGone.signal);
  } finally {
    endTelling?.();
    clearTimeout(timer);
    stopping.removeEventListener('abort', onStop);
  }
  const exitCode = readExitCode(exitFile);
  await killing;
  // Whatever it left behind goes too, and then nobody holds the pipes any more.
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
  const error = describeFailure(`exit code ${exitCode}`, redactor.text(stderr!.text()));
  return { ...result, status: 'failed', error };
}

function timeoutOf({ payload, deadline }: Command, now: number): number {
  const asked = positiveOf(payload.timeoutMs) ?? (deadline === null ? defaultTimeoutMs : Infinity);
  return Math.min(asked, deadline === null ? Infinity : deadline - now);
}

interface Collected {
  text(): string;
  tail(bytes: number): string;
  total(): number;
  ended: Promise<void>;
}

/** Keeps the beginning, counts the rest. */
function collect(stream: NodeJS.ReadableStream): Collected {
  const pieces: Buffer[] = [];
  let total = 0;
  let kept = 0;
  let latest = Buffer.alloc(0);
  stream.on('data', (piece: Buffer) => {
    total += piece.length;
    latest = Buffer.concat([latest, piece]).subarray(-latestBytes);
    // A little more than is sent: a secret across the cut must be whole to be found.
    if (kept < outputBytes + 64 * 1024) pieces.push(piece);
    kept += piece.length;
  });
  return {
    text: () => Buffer.concat(pieces).toString('utf8'),
    tail: (bytes) => latest.subarray(-bytes).toString('latin1'),
    total: () => total,
    ended: new Promise((resolve) => stream.once('close', () => resolve())),
  };
}

function cutOutput(redactor: Redactor, stdout: Collected): string {
  const bytes = Buffer.from(redactor.text(stdout.text()).replaceAll('\0', '\u{FFFD}'));
  if (bytes.length <= outputBytes && stdout.total() <= outputBytes + 64 * 1024) return bytes.toString('utf8');
  const note = `\n… [cut: the output has ${stdout.total()} bytes]`;
  return cutBytes(bytes, outputBytes - Buffer.byteLength(note)) + note;
}
