import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { listChartAlertFiles } from './chart-alerts';
import { renderChartPaths, renderChartQueues } from './chart-data';
import { renderNginxConf } from './render-nginx-conf';
import { renderReadmesWithImports } from './readme-imports';

/** Files that are generated from tables alone, by their paths from the repository’s root. */
export const generatedFiles: Record<string, () => string> = {
  'docker/nginx.conf': renderNginxConf,
  'k8s/chart/generated/paths.yaml': renderChartPaths,
  'k8s/chart/generated/queues.yaml': renderChartQueues,
};

const listGeneratedFiles = (root: string) => ({
  ...generatedFiles,
  ...listChartAlertFiles(root),
  ...renderReadmesWithImports(root),
});

/** Returns every file that is out of date with the tables and the sources, with its first difference. */
export function listStaleFiles(root: string): string[] {
  return Object.entries(listGeneratedFiles(root)).flatMap(([path, make]) => {
    const difference = describeFirstDifference(make(), readOrNull(join(root, path)));
    return difference ? [`${path}: ${difference}`] : [];
  });
}

export function describeFirstDifference(wanted: string, found: string | null): string | null {
  if (found === null) return 'is missing';
  if (wanted === found) return null;
  const wantedLines = wanted.split('\n');
  const foundLines = found.split('\n');
  const index = wantedLines.findIndex((line, at) => line !== foundLines[at]);
  const at = index === -1 ? wantedLines.length : index;
  const quoteLine = (line: string | undefined) => (line === undefined ? 'nothing' : `"${line}"`);
  return `line ${at + 1} has ${quoteLine(foundLines[at])}, should have ${quoteLine(wantedLines[at])}`;
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function runGenerate(args: string[], root: string): number {
  const stale = listStaleFiles(root);
  if (args.includes('--check')) {
    for (const line of stale) process.stderr.write(`stale: ${line}\n`);
    if (stale.length) process.stderr.write('run: node tools/build/build.mjs && node dist/tools/deploy/generate.js\n');
    return stale.length ? 1 : 0;
  }
  const files = Object.entries(listGeneratedFiles(root));
  for (const [path, make] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), make());
  }
  process.stdout.write(`generate: ${stale.length} of ${files.length} files changed\n`);
  return 0;
}

// Compiled, this file is dist/tools/deploy/generate.js.
if (require.main === module) process.exitCode = runGenerate(process.argv.slice(2), join(__dirname, '../../..'));
