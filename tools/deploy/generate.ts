import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { chartAlerts } from './chart-alerts';
import { chartPaths, chartQueues } from './chart-data';
import { nginxConf } from './nginx-conf';
import { readmesWithImports } from './readme-imports';

/** Files that are generated from tables alone, by their paths from the repository’s root. */
export const generatedFiles: Record<string, () => string> = {
  'docker/nginx.conf': nginxConf,
  'k8s/chart/generated/paths.yaml': chartPaths,
  'k8s/chart/generated/queues.yaml': chartQueues,
};

const filesOf = (root: string) => ({ ...generatedFiles, ...chartAlerts(root), ...readmesWithImports(root) });

/** Returns every file that is out of date with the tables and the sources, with its first difference. */
export function staleFiles(root: string): string[] {
  return Object.entries(filesOf(root)).flatMap(([path, make]) => {
    const difference = firstDifference(make(), read(join(root, path)));
    return difference ? [`${path}: ${difference}`] : [];
  });
}

export function firstDifference(wanted: string, found: string | null): string | null {
  if (found === null) return 'is missing';
  if (wanted === found) return null;
  const wantedLines = wanted.split('\n');
  const foundLines = found.split('\n');
  const index = wantedLines.findIndex((line, at) => line !== foundLines[at]);
  const at = index === -1 ? wantedLines.length : index;
  const show = (line: string | undefined) => (line === undefined ? 'nothing' : `"${line}"`);
  return `line ${at + 1} has ${show(foundLines[at])}, should have ${show(wantedLines[at])}`;
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function main(args: string[], root: string): number {
  const stale = staleFiles(root);
  if (args.includes('--check')) {
    for (const line of stale) process.stderr.write(`stale: ${line}\n`);
    if (stale.length) process.stderr.write('run: node tools/build/build.mjs && node dist/tools/deploy/generate.js\n');
    return stale.length ? 1 : 0;
  }
  const files = Object.entries(filesOf(root));
  for (const [path, make] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), make());
  }
  process.stdout.write(`generate: ${stale.length} of ${files.length} files changed\n`);
  return 0;
}

// Compiled, this file is dist/tools/deploy/generate.js.
if (require.main === module) process.exitCode = main(process.argv.slice(2), join(__dirname, '../../..'));
