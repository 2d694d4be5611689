import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isObject, type Command } from '../protocol/command';
import { writeAtomically } from '../host/files';
import { readPythonModule } from './python-module';

export interface SourceFiles {
  script: string;
  inputs: Record<string, unknown>;
  /** Additional files, by their paths within the folder. */
  others?: Record<string, string>;
}

/** Creates the folder of a run or session. It contains the sources and their checksums, as evidence of what ran. */
export function createRunFolder(folder: string, { script, inputs, others = {} }: SourceFiles): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'tmp'), { recursive: true, mode: 0o700 });
  const files = {
    'script.py': script,
    'inputs.json': JSON.stringify(inputs),
    'muster.py': readPythonModule(),
    ...others,
  };
  const manifest: Record<string, { sha256: string; size: number }> = {};
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, name), content, { mode: 0o600 });
    manifest[name] = { sha256: sha256Hex(content), size: Buffer.byteLength(content) };
  }
  writeAtomically(join(folder, 'manifest.json'), JSON.stringify({ files: manifest }));
}

/** Returns the fields of a command that its run may read, without secret variables and without the environment. */
export function collectInputs({ jobId, payload }: Command, secretNames: string[]): Record<string, unknown> {
  const variables = isObject(payload.variables) ? payload.variables : {};
  const open = Object.entries(variables).filter(([name]) => !secretNames.includes(name));
  const { workflowId = null, workflowRevision = null, accounts = {} } = payload;
  return { jobId, workflowId, workflowRevision, variables: Object.fromEntries(open), accounts };
}

/** Removes old folders, except the newest ones and those still needed. Returns the names of the removed folders. */
export function removeOldRunFolders(
  folder: string,
  needed: (name: string) => boolean,
  now: number,
  keep = { count: 20, ms: 7 * 24 * 3600_000 },
): string[] {
  if (!existsSync(folder)) return [];
  const roots = readdirSync(folder)
    .map((name) => ({ name, at: statSync(join(folder, name)).mtimeMs }))
    .sort((a, b) => b.at - a.at);
  const old = roots
    .filter(({ at }, index) => index >= keep.count || at < now - keep.ms)
    .filter(({ name }) => !needed(name));
  for (const { name } of old) rmSync(join(folder, name), { recursive: true, force: true });
  return old.map(({ name }) => name);
}

export function sha256Hex(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
