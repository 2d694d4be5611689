import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { generatedFiles, describeFirstDifference, listStaleFiles } from './generate';
import { repositoryRoot } from './deployment.harness';
import { renderReadmesWithImports } from './readme-imports';

describe('generated files', () => {
  it('the generated files are up to date with the tables', () => {
    expect(listStaleFiles(repositoryRoot)).toEqual([]);
  });

  it('generated files that are missing count as stale', () => {
    expect(listStaleFiles('/nowhere')).toEqual(Object.keys(generatedFiles).map((path) => `${path}: is missing`));
  });

  it('the imports line of each README is a part of the generated files', () => {
    const root = mkdtempSync(join(tmpdir(), 'muster-readmes-'));
    const writeFileInRoot = (path: string, text: string) => {
      mkdirSync(join(root, dirname(path)), { recursive: true });
      writeFileSync(join(root, path), text);
    };
    writeFileInRoot('libs/jobs/README.md', '# jobs\n\n**Owns** jobs. **Imports** no other project.\n');
    writeFileInRoot(
      'libs/jobs/src/launch.ts',
      `import { a } from '@muster/contracts';\nimport type { B } from '@muster/machines';\n`,
    );
    writeFileInRoot('libs/jobs/src/launch.spec.ts', `import { c } from '@muster/testing';\n`);
    writeFileInRoot('libs/vault/README.md', '# vault\n');
    const readmes = renderReadmesWithImports(root);
    expect(Object.fromEntries(Object.entries(readmes).map(([path, make]) => [path, make()]))).toEqual({
      'libs/jobs/README.md': '# jobs\n\n**Owns** jobs. **Imports** machines, contracts.\n',
      'libs/vault/README.md': '# vault\n\n**Imports** no other project.\n',
    });
    rmSync(root, { recursive: true });
  });

  it.each([
    ['a\nb\n', 'a\nc\n', 'line 2 has "c", should have "b"'],
    ['a\nb\n', 'a\n', 'line 2 has "", should have "b"'],
    ['a\n', 'a\nb\n', 'line 2 has "b", should have ""'],
  ])('describeFirstDifference shows the first difference of %j and %j', (wanted, found, difference) => {
    expect(describeFirstDifference(wanted, found)).toBe(difference);
  });
});
