import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { longForm } from '@muster/testing';
import { lineDiff } from './line-diff';

describe('lineDiff', () => {
  it('a line diff of equal texts has no lines', () => {
    expect(lineDiff('a\nb', 'a\nb')).toEqual([]);
  });

  it('a line diff shows three lines around each change and marks a missing newline at the end of a text', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const changed = [...lines];
    changed[10] = 'another';
    expect(lineDiff(`${lines.join('\n')}\n`, changed.join('\n'))).toEqual([
      '@@ -8,7 +8,7 @@',
      ...[' line 7', ' line 8', ' line 9', '-line 10', '+another', ' line 11', ' line 12', ' line 13'],
      '@@ -17,4 +17,4 @@',
      ...[' line 16', ' line 17', ' line 18', '-line 19', '+line 19', '\\ No newline at end of file'],
    ]);
  });

  it('a line diff is a patch with which git apply turns the first text into the second', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-diff-'));
    try {
      const line = fc.constantFrom('a', 'b', 'c', '', 'd\r');
      const text = fc
        .tuple(fc.array(line, { maxLength: 40 }), fc.boolean())
        .map(([lines, ended]) => lines.join('\n') + (ended && lines.length ? '\n' : ''));
      fc.assert(
        fc.property(text, text, (from, to) => {
          const diff = lineDiff(from, to);
          if (from === to) return;
          writeFileSync(join(folder, 'file'), from);
          writeFileSync(join(folder, 'patch'), `--- a/file\n+++ b/file\n${diff.join('\n')}\n`);
          execFileSync('git', ['apply', '--unidiff-zero', '--whitespace=nowarn', 'patch'], { cwd: folder });
          expect(execFileSync('cat', [join(folder, 'file')]).toString()).toBe(to);
        }),
        { numRuns: longForm('LINE_DIFF_RUNS', { short: 15, long: 300 }) },
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
