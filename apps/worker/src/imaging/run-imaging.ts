import { mkdirSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { readJson, writeWhole } from '../host/files';
import type { Command, Result } from '../protocol/command';
import { runCode, type SnippetContext } from '../runs/snippet';
import type { ImagingSettings } from '../settings';
import { imagingPackage } from './imaging-package';

export interface ImagingContext extends SnippetContext {
  /** The worker's own. */
  folder: string;
  imaging: ImagingSettings;
}

/** What the program leaves when it ends by itself. */
type Outcome = Pick<Result, 'status' | 'output' | 'error' | 'code'>;

const script = 'from muster_imaging.main import main\n\nmain()\n';
const secretNames = ['PRACTICE_DATABASE'];

/**
 * Runs the package muster_imaging for a command. A conversion and what was made for it are kept until there is an
 * outcome: null says that the worker ends first, and that the next one is to go on with it (`keptCommand`). A composite
 * begins with a patient's name, which is not kept here: the next worker says that it was restarted.
 */
export async function runImaging(command: Command, context: ImagingContext): Promise<Result | null> {
  const { folder, imaging } = context;
  const place = placeOf(folder, command.commandId);
  mkdirSync(place, { recursive: true, mode: 0o700 });
  if (command.kind === 'imaging_images') keep(command, place);
  const { commandId, kind } = command;
  const result = await runCode(command, join(folder, 'commands', commandId), false, context, {
    sources: { script, inputs: command.payload, others: imagingPackage() },
    env: {
      ...imaging.variables,
      ...pillowEnvironment(imaging),
      MUSTER_IMAGING_KIND: kind,
      MUSTER_IMAGING_FOLDER: place,
    },
    secretNames,
    pythonPath: imaging.pythonPath,
  });
  const outcome = readJson<Outcome>(join(place, 'outcome.json'));
  const isStopped = !outcome && result.code !== 'execution_timeout' && context.stopping.aborted;
  if (isStopped && kind === 'imaging_images') return null;
  rmSync(place, { recursive: true, force: true });
  if (outcome) return outcome;
  // What it printed may name what it read: only how it ended is told.
  const { code, exitCode } = result;
  if (code || isStopped) return { status: 'failed', ...(code ? { code } : {}), error: result.error ?? 'it ended' };
  return { status: 'failed', error: `imaging ended without a result (exit code ${exitCode ?? 'unknown'})` };
}

function keep(command: Command, place: string): void {
  const { MUSTER_REQUEST_ID, TRACEPARENT } = command.env;
  // Of the environment only what is no secret: what is one, the worker has itself.
  const origin = Object.entries({ MUSTER_REQUEST_ID, TRACEPARENT }).filter(([, value]) => value !== undefined);
  writeWhole(join(place, 'command.json'), JSON.stringify({ ...command, env: Object.fromEntries(origin) }));
}

/** A command that a worker before this one had begun, and which can be gone on with. */
export function keptCommand(folder: string, commandId: string, now: number): Command | null {
  const kept = readJson<Command>(join(placeOf(folder, commandId), 'command.json'));
  if (kept && (kept.deadline === null || kept.deadline > now)) return kept;
  rmSync(placeOf(folder, commandId), { recursive: true, force: true });
  return null;
}

/** What its Python needs, to find a Pillow that was fetched, with its libraries. */
export function pillowEnvironment({ libraryPath }: ImagingSettings): Record<string, string> {
  return libraryPath ? { LD_LIBRARY_PATH: libraryPath.split(delimiter).filter(Boolean).join(delimiter) } : {};
}

function placeOf(folder: string, commandId: string): string {
  return join(folder, 'imaging', commandId);
}
