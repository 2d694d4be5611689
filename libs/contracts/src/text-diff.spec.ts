import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { chooseSize } from '@muster/testing';
import { diffToHunks, formatUnifiedDiff } from './text-diff';

const names = { before: 'a', after: 'b' };
const formatTestDiff = (before: string, after: string) => formatUnifiedDiff(before, after, names);

describe('formatUnifiedDiff', () => {
  it('a diff of two texts has the format of diff -u', () => {
    const before = 'one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n';
    const after = before.replace('two\n', '').replace('nine', 'NINE');
    expect(formatTestDiff(before, after)).toBe(
      [
        ...['--- a', '+++ b', '@@ -1,5 +1,4 @@', ' one', '-two', ' three', ' four', ' five'],
        ...['@@ -6,5 +5,5 @@', ' six', ' seven', ' eight', '-nine', '+NINE', ' ten', ''],
      ].join('\n'),
    );
  });

  it('a diff of equal texts is empty', () => {
    expect(formatTestDiff('same\n', 'same\n')).toBe('');
  });

  it('a diff shows a missing line ending', () => {
    expect(formatTestDiff('one\n', 'one')).toBe(
      '--- a\n+++ b\n@@ -1,1 +1,1 @@\n-one\n+one\n\\ No newline at end of file\n',
    );
    expect(formatTestDiff('', 'one\n')).toBe('--- a\n+++ b\n@@ -0,0 +1,1 @@\n+one\n');
  });

  it('a diff turns one text into the other when it is applied as a patch', () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd', ''), { maxLength: 40 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(text, text, (before, after) => {
        expect(applyPatch(before, formatTestDiff(before, after))).toBe(after);
      }),
      { numRuns: 500 },
    );
  });

  it('two long texts without a common line are compared quickly', () => {
    const makeNumberedLines = (word: string) =>
      Array.from({ length: chooseSize('DIFF_LINES', { short: 5000, long: 20_000 }) }, (_, n) => `${word} ${n}\n`).join(
        '',
      );
    const patch = formatTestDiff(makeNumberedLines('old'), makeNumberedLines('new'));
    expect(applyPatch(makeNumberedLines('old'), patch)).toBe(makeNumberedLines('new'));
  });

  it('a diff of texts with many equal and many different lines is computed quickly, by replacing the whole text', () => {
    const makeDifferentLines = (word: string) => Array.from({ length: 600 }, (_, n) => `${word} ${n}\n`).join('');
    const [before, after] = ['x', 'z'].map(
      (word) =>
        `${word}\n${'\n'.repeat(chooseSize('DIFF_EMPTY_LINES', { short: 100_000, long: 900_000 }))}${makeDifferentLines(word)}`,
    ) as [string, string];
    const patch = formatTestDiff(before, after).split('\n');
    expect(patch.filter((line) => line.startsWith('-')).length - 1).toBe(before.split('\n').length - 1);
    expect(patch.filter((line) => line.startsWith('+')).length - 1).toBe(after.split('\n').length - 1);
  });
});

describe('diffToHunks', () => {
  it('equal texts have no hunks', () => {
    expect(diffToHunks('a\nb', 'a\nb')).toEqual([]);
  });

  it('a hunk shows three lines around each change and marks a missing newline at the end of a text', () => {
    const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`);
    const changed = lines.with(10, 'another');
    expect(diffToHunks(`${lines.join('\n')}\n`, changed.join('\n'))).toEqual([
      '@@ -8,7 +8,7 @@',
      ...[' line 7', ' line 8', ' line 9', '-line 10', '+another', ' line 11', ' line 12', ' line 13'],
      '@@ -17,4 +17,4 @@',
      ...[' line 16', ' line 17', ' line 18', '-line 19', '+line 19', '\\ No newline at end of file'],
    ]);
  });

  it('texts with more changed lines than the maximum are shown as replaced as a whole', () => {
    const [before, after] = ['one\nsame\ntwo\n', '1\nsame\n2\n'];
    expect(diffToHunks(before, after, 4)).toContain(' same');
    expect(diffToHunks(before, after, 3)).not.toContain(' same');
  });

  it('the hunks are a patch with which git apply turns the first text into the second', () => {
    const folder = mkdtempSync(join(tmpdir(), 'muster-diff-'));
    try {
      const line = fc.constantFrom('a', 'b', 'c', '', 'd\r');
      const text = fc
        .tuple(fc.array(line, { maxLength: 40 }), fc.boolean())
        .map(([lines, ended]) => lines.join('\n') + (ended && lines.length ? '\n' : ''));
      fc.assert(
        fc.property(text, text, (from, to) => {
          if (from === to) return;
          writeFileSync(join(folder, 'file'), from);
          writeFileSync(join(folder, 'patch'), `--- a/file\n+++ b/file\n${diffToHunks(from, to).join('\n')}\n`);
          execFileSync('git', ['apply', '--unidiff-zero', '--whitespace=nowarn', 'patch'], { cwd: folder });
          expect(readFileSync(join(folder, 'file'), 'utf8')).toBe(to);
        }),
        { numRuns: chooseSize('LINE_DIFF_RUNS', { short: 15, long: 300 }) },
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});

/** Applies a patch as patch(1) does, to lines with their endings. */
function applyPatch(before: string, patch: string): string {
  const old = before.split(/(?<=\n)/);
  const result: string[] = [];
  let at = 0;
  for (const line of patch.replaceAll('\n\\ No newline at end of file', '\r').split('\n').slice(2, -1)) {
    const hunk = /^@@ -(\d+),(\d+) \+\d+,\d+ @@$/.exec(line);
    const text = line.endsWith('\r') ? line.slice(1, -1) : `${line.slice(1)}\n`;
    if (hunk) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      while (at < start) result.push(old[at++]!);
    } else if (line.startsWith('+')) result.push(text);
    else {
      expect(old[at]).toBe(text);
      if (line.startsWith(' ')) result.push(text);
      at += 1;
    }
  }
  return [...result, ...old.slice(at)].join('');
}
