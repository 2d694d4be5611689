import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** All projects, from the top layer to the bottom one: a project may import only those after it. */
const layers = [
  ...['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering', 'feedback-sync'],
  ...[
    'assistant',
    'schedules',
    'jobs',
    'commands',
    'machines',
    'timeline',
    'workflows',
    'packs',
    'pilot',
    'feedback',
    'pricing',
    'alerts',
    'webhooks',
    'access',
  ],
  ...['vm', 'storage', 'trackers', 'models', 'vault', 'testing', 'database', 'platform', 'sdk', 'contracts'],
];
const tests = /\.(spec|harness)\.ts$/;
const importLine = /\*\*Imports\*\* .*\.$/m;

/** Returns the README of each app and lib, with its imports line computed from its sources without tests. */
export function renderReadmesWithImports(root: string): Record<string, () => string> {
  const listPackageNames = (kind: string) => (existsSync(join(root, kind)) ? readdirSync(join(root, kind)) : []);
  const folders = ['apps', 'libs'].flatMap((kind) => listPackageNames(kind).map((name) => `${kind}/${name}`));
  const readmes = folders.map((folder) => `${folder}/README.md`).filter((path) => existsSync(join(root, path)));
  return Object.fromEntries(readmes.map((path) => [path, () => replaceImports(root, path)]));
}

function replaceImports(root: string, path: string): string {
  const text = readFileSync(join(root, path), 'utf8');
  const folder = path.replace('/README.md', '');
  const names = listImports(join(root, folder), folder.split('/')[1]!);
  const line = `**Imports** ${names.join(', ') || 'no other project'}.`;
  return importLine.test(text) ? text.replace(importLine, line) : `${text.trimEnd()}\n\n${line}\n`;
}

function listImports(folder: string, own: string): string[] {
  const sources = existsSync(join(folder, 'src')) ? readdirSync(join(folder, 'src'), { recursive: true }) : [];
  const found = new Set(
    (sources as string[])
      // The sources of e2e are its tests.
      .filter((file) => /\.tsx?$/.test(file) && (own === 'e2e' || !tests.test(file)))
      .flatMap((file) => [
        ...readFileSync(join(folder, 'src', file), 'utf8').matchAll(/'@muster\/([\w-]+)(?:\/[\w-]+)?'/g),
      ])
      .map(([, name]) => name!),
  );
  const unknown = [...found].filter((name) => !layers.includes(name));
  if (unknown.length) throw new Error(`add ${unknown.join(', ')} to the layers in tools/deploy/readme-imports.ts`);
  return layers.filter((name) => found.has(name) && name !== own);
}
