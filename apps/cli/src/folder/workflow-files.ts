import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createUsageError } from '../frame/failure';
import { readPlainFile, throwIfLink, writePlainFile } from './plain-file';

/** The fields of a workflow that are stored in its folder. The other fields exist only in the service. */
export interface WorkflowContent {
  name: string;
  description: string;
  variables: string[];
  maxCostUsd: number | null;
  workflowPackInstallationId: string | null;
  script: string;
  steps: Record<string, unknown>[];
}

export interface LocalWorkflow {
  /** Name of the workflow's folder. */
  folder: string;
  /** Id of the workflow in the service; null until the workflow is pushed. */
  id: string | null;
  content: WorkflowContent;
}

const metadataFile = 'workflow.json';
const scriptFile = 'script.py';
const stepsFile = 'steps.json';
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads all workflows of a folder. Each workflow is a subfolder with its metadata, its script and its steps. */
export function readWorkflows(folder: string): LocalWorkflow[] {
  if (!existsSync(folder))
    throw createUsageError(
      `The folder ${folder} does not exist.`,
      `To create it, run muster workflows pull ${folder}.`,
    );
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => existsSync(join(folder, entry.name, metadataFile)))
    .map((entry) => readWorkflow(folder, entry.name))
    .sort((one, other) => one.folder.localeCompare(other.folder));
}

function readWorkflow(folder: string, name: string): LocalWorkflow {
  const at = join(folder, name);
  throwIfLink(at);
  const metadata = readJson(join(at, metadataFile)) as Partial<WorkflowContent> & { id?: string };
  if (typeof metadata?.name !== 'string')
    throw createUsageError(`${join(at, metadataFile)} has no name. Add "name" to it.`);
  const steps = readJson(join(at, stepsFile)) ?? [];
  if (!Array.isArray(steps))
    throw createUsageError(`${join(at, stepsFile)} is not a JSON array. Write the steps as a list.`);
  return {
    folder: name,
    id: metadata.id ?? null,
    content: {
      name: metadata.name,
      description: metadata.description ?? '',
      variables: metadata.variables ?? [],
      maxCostUsd: metadata.maxCostUsd ?? null,
      workflowPackInstallationId: metadata.workflowPackInstallationId ?? null,
      script: readText(join(at, scriptFile)) ?? '',
      steps: steps as Record<string, unknown>[],
    },
  };
}

export function writeWorkflow(folder: string, { folder: name, id, content }: LocalWorkflow): void {
  const at = join(folder, name);
  const { script, steps, ...metadata } = content;
  throwIfLink(at);
  mkdirSync(at, { recursive: true });
  // Prevents git from converting the line endings of scripts.
  writePlainFile(join(folder, '.gitattributes'), '* -text\n');
  writePlainFile(join(at, metadataFile), toJson({ id, ...metadata }));
  writeOrRemove(join(at, scriptFile), script);
  writeOrRemove(join(at, stepsFile), steps.length ? toJson(steps) : '');
}

/** Derives a folder name from a workflow's name that is not in `taken`. */
export function chooseFolderName(name: string, taken: ReadonlySet<string>): string {
  const words = name
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-');
  const trimmed = words.replace(/^-+|-+$/g, '');
  // 60 characters have at most 240 bytes, and a file name can have at most 255 bytes.
  const slug = [...trimmed].slice(0, 60).join('') || 'workflow';
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? slug : `${slug}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** Returns a digest of the content. The order of its fields does not affect the digest. */
export function digestContent(content: WorkflowContent): string {
  return createHash('sha256')
    .update(JSON.stringify(sortKeys(content)))
    .digest('hex');
}

export function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, each]) => [key, sortKeys(each)]),
  );
}

function writeOrRemove(file: string, text: string): void {
  throwIfLink(file);
  if (text) writePlainFile(file, text);
  else rmSync(file, { force: true });
}

function readJson(file: string): unknown {
  const text = readText(file);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw createUsageError(`${file} is not valid JSON: ${(error as Error).message}`);
  }
}

function readText(file: string): string | undefined {
  const bytes = readPlainFile(file);
  if (!bytes) return undefined;
  try {
    return decoder.decode(bytes);
  } catch {
    throw createUsageError(`${file} is not UTF-8.`, 'A workflow contains only text. Put other files in a pack.');
  }
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
