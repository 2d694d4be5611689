// @ts-expect-error: plain JavaScript, because it runs before anything is compiled.
import { findImportCircles } from './circles.mjs';

const findCircles = (texts: Record<string, string>) =>
  findImportCircles(Object.keys(texts), (file: string) => texts[file]!) as string[];

describe('files that import each other', () => {
  it('files that import each other are reported once per circle, with imports of types, folders and later imports', () => {
    expect(
      findCircles({
        'a/one.ts': "import type { Two } from './two';",
        'a/two.ts': "import { three } from '../b';\nexport { x } from '@muster/x';",
        'a/b.ts': "import './one';",
        'b/index.ts': "const one = await import('../a/one');",
        'c/self.mjs': "import './other.mjs';",
        'c/other.mjs': "import { readFile } from 'node:fs/promises';\nimport './self.mjs';",
      }),
    ).toEqual([
      'a/one.ts, a/two.ts, b/index.ts: import each other in a circle',
      'c/other.mjs, c/self.mjs: import each other in a circle',
    ]);
  });

  it('files are not reported if imports are one-way, even if several files import the same file', () => {
    expect(findCircles({ 'a.ts': "import './b'; import './c';", 'b.ts': "import './c';", 'c.ts': '' })).toEqual([]);
  });
});
