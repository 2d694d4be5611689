import { mkdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { readJson, writeAtomically } from '../host/files';
import type { Command, Result } from '../protocol/command';
import { runSnippet, type SnippetContext } from '../runs/run-snippet';
import type { ImagingSettings } from '../settings';
import { loadImagingPackage } from './load-imaging-package';

export interface ImagingContext extends SnippetContext {
  /** The worker's folder. */
  folder: string;
  imaging: ImagingSettings;
}

/** Outcome that the Python program writes to a file before it ends, unless it is killed. */
type Outcome = Pick<Result, 'status' | 'output' | 'error' | 'code'>;

const script = 'from muster_imaging.main import main\n\nmain()\n';
const secretNames = ['PRACTICE_DATABASE'];

/**
 * Runs the package muster_imaging for a command. A conversion and its files are stored until there is an outcome.
 * Returns null if the worker ends first; the next worker then continues the conversion (`readStoredCommand`). A
 * composite has a patient's name in its inputs, which are not stored, so the next worker reports that the command was
 * interrupted.
 */
export async function runImaging(command: Command, context: ImagingContext): Promise<Result | null> {
  const { folder, imaging } = context;
  const commandFolder = getImagingFolder(folder, command.commandId);
  mkdirSync(commandFolder, { recursive: true, mode: 0o700 });
  if (command.kind === 'imaging_images') storeImagingCommand(command, commandFolder);
  const { commandId, kind } = command;
  const result = await runSnippet(command, join(folder, 'commands', commandId), false, context, {
    sources: { script, inputs: command.payload, others: loadImagingPackage() },
    env: {
      ...imaging.variables,
      ...buildPillowEnvironment(imaging),
      MUSTER_IMAGING_KIND: kind,
      MUSTER_IMAGING_FOLDER: commandFolder,
    },
    secretNames,
    pythonPath: imaging.pythonPath,
  });
  const outcome = readJson<Outcome>(join(commandFolder, 'outcome.json'));
  const isStopped = !outcome && result.code !== 'execution_timeout' && context.stopping.aborted;
  if (isStopped && kind === 'imaging_images') return null;
  rmSync(commandFolder, { recursive: true, force: true });
  if (outcome) return outcome;
  // The program's output may name the files that it read, so only its exit code is reported.
  const { code, exitCode } = result;
  if (code || isStopped) return { status: 'failed', ...(code ? { code } : {}), error: result.error ?? 'it ended' };
  return { status: 'failed', error: `the image program ended without a result (exit code ${exitCode ?? 'unknown'})` };
}

function storeImagingCommand(command: Command, commandFolder: string): void {
  const { MUSTER_REQUEST_ID, TRACEPARENT } = command.env;
  // Stores only the variables that are not secret. The worker has the secret variables in its own environment.
  const origin = Object.entries({ MUSTER_REQUEST_ID, TRACEPARENT }).filter(([, value]) => value !== undefined);
  writeAtomically(join(commandFolder, 'command.json'), JSON.stringify({ ...command, env: Object.fromEntries(origin) }));
}

/** Returns a command that an earlier worker began, if it can be continued. */
export function readStoredCommand(folder: string, commandId: string, now: number): Command | null {
  const stored = readJson<Command>(join(getImagingFolder(folder, commandId), 'command.json'));
  if (stored && (stored.deadline === null || stored.deadline > now)) return stored;
  rmSync(getImagingFolder(folder, commandId), { recursive: true, force: true });
  return null;
}

/** Returns the variables that Python needs to find the libraries of a downloaded Pillow. */
export function buildPillowEnvironment({ libraryPath }: ImagingSettings): Record<string, string> {
  return libraryPath ? { LD_LIBRARY_PATH: libraryPath.split(delimiter).filter(Boolean).join(delimiter) } : {};
}

function getImagingFolder(folder: string, commandId: string): string {
  return join(folder, 'imaging', commandId);
}
