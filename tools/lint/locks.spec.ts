import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const statements =
  /FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)(?: OF \w+)?(?: SKIP LOCKED)?|\bpg_(?:try_)?advisory_\w+|pessimistic_\w+|LOCK TABLE|(?<!function )\b(?:lock[A-Z]\w*|(?:acquire|try)AdvisoryLock)\(|'lock(?:_beside_launches)?'/g;
/** Files that run no SQL of the product. */
const others =
  /\.(?:spec|harness)\.ts$|\/migrations\/|^apps\/(?:e2e|console|cli|worker)\/|^libs\/testing|\/fixtures?\/|\/node_modules\//;

/** Returns what a source file locks, in the form of `locks.txt`; an empty text if it locks nothing. */
function listLocks(text: string): string {
  const code = text
    .replaceAll(/\/\*.*?\*\//gs, '')
    .split('\n')
    .filter((line) => !/^\s*\/\/|^\s*import /.test(line))
    .join('\n');
  const counts = new Map<string, number>();
  for (const [found] of code.matchAll(statements)) counts.set(found, (counts.get(found) ?? 0) + 1);
  return [...counts.keys()]
    .sort()
    .map((found) => `${counts.get(found)} ${found}`)
    .join(', ');
}

/**
 * A lock that is removed breaks nothing until two requests meet, so each one has a test in which they meet. A change of
 * a lock changes `locks.txt`, and shows which tests it needs.
 */
describe('the locks of the product', () => {
  const rows = readFileSync('tools/lint/locks.txt', 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(' | ') as [source: string, locks: string, tests: string]);

  it('each statement with a lock, and each call that takes one, is listed with its test', () => {
    const found = ['libs', 'apps']
      .flatMap((folder) => (readdirSync(folder, { recursive: true }) as string[]).map((file) => join(folder, file)))
      .filter((file) => file.endsWith('.ts') && !others.test(file))
      .map((file) => [file, listLocks(readFileSync(file, 'utf8'))])
      .filter(([, locks]) => locks !== '');
    expect(found.sort()).toEqual(rows.map(([source, locks]) => [source, locks]));
  });

  it('each listed test exists and runs requests at the same time', () => {
    const tests = new Set(rows.flatMap((row) => row[2].split(', ')));
    const concurrent = /runBehindLock|runBesideLock|Promise\.all|FOR (?:NO KEY )?UPDATE/;
    const missing = [...tests].filter((test) => !existsSync(test) || !concurrent.test(readFileSync(test, 'utf8')));
    expect(missing).toEqual([]);
  });
});
