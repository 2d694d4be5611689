/** A line of a difference: unchanged, removed or added. */
interface Edit {
  kind: ' ' | '-' | '+';
  line: string;
}

/**
 * Default for the maximum number of changed lines that the search can find. With more, the search would block the
 * process, so all lines are shown as replaced.
 */
const defaultMaxEdits = 1000;
/**
 * Maximum number of compared lines, because the search for a few edits among millions of equal lines is slow too.
 */
const maxCompared = 4_000_000;
const contextLines = 3;

/** Returns the difference of two texts in the format of `diff -u`; empty if they are equal. */
export function formatUnifiedDiff(before: string, after: string, names: { before: string; after: string }): string {
  if (before === after) return '';
  return [`--- ${names.before}`, `+++ ${names.after}`, ...diffToHunks(before, after)].join('\n') + '\n';
}

/** Returns the lines of the hunks of `diff -u`; none if the texts are equal. */
export function diffToHunks(before: string, after: string, maxEdits = defaultMaxEdits): string[] {
  const hunks = formatHunks(computeEdits(splitLines(before), splitLines(after), maxEdits));
  return hunks.flatMap((line) => line.split('\n'));
}

const unended = '\\ No newline at end of file';

/** Splits a text into lines. A last line without a line ending differs from the same line with one. */
function splitLines(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  else lines[lines.length - 1] += `\n${unended}`;
  return lines;
}

/** Returns the fewest lines to remove and to add, unless the search would take too long. */
export function computeEdits(before: string[], after: string[], maxEdits = defaultMaxEdits): Edit[] {
  let head = 0;
  while (head < before.length && head < after.length && before[head] === after[head]) head += 1;
  let tail = 0;
  const most = Math.min(before.length, after.length) - head;
  while (tail < most && before[before.length - 1 - tail] === after[after.length - 1 - tail]) tail += 1;
  const keepLine = (line: string): Edit => ({ kind: ' ', line });
  return [
    ...before.slice(0, head).map(keepLine),
    ...findShortestEdits(before.slice(head, before.length - tail), after.slice(head, after.length - tail), maxEdits),
    ...before.slice(before.length - tail).map(keepLine),
  ];
}

/** Myers' greedy search for the fewest edits. */
function findShortestEdits(before: string[], after: string[], maxEdits: number): Edit[] {
  const [n, m] = [before.length, after.length];
  const most = Math.min(n + m, maxEdits);
  const reach = new Int32Array(2 * most + 3);
  const offset = most + 1;
  const trail: Int32Array[] = [];
  let compared = 0;
  for (let edits = 0; edits <= most && compared < maxCompared; edits += 1) {
    trail.push(reach.slice(offset - edits - 1, offset + edits + 2));
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && reach[offset + k - 1]! < reach[offset + k + 1]!);
      const from = down ? reach[offset + k + 1]! : reach[offset + k - 1]! + 1;
      let x = from;
      while (x < n && x - k < m && before[x] === after[x - k]) x += 1;
      compared += x - from;
      reach[offset + k] = x;
      if (x >= n && x - k >= m) return traceBackEdits(trail, before, after);
    }
  }
  return [...before.map((line): Edit => ({ kind: '-', line })), ...after.map((line): Edit => ({ kind: '+', line }))];
}

function traceBackEdits(trail: Int32Array[], before: string[], after: string[]): Edit[] {
  const edits: Edit[] = [];
  let [x, y] = [before.length, after.length];
  for (let at = trail.length - 1; at >= 0; at -= 1) {
    const furthestX = (k: number) => trail[at]![k + at + 1]!;
    const k = x - y;
    const down = k === -at || (k !== at && furthestX(k - 1) < furthestX(k + 1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = at === 0 ? 0 : furthestX(fromK);
    const fromY = at === 0 ? 0 : fromX - fromK;
    while (x > fromX && y > fromY) {
      x -= 1;
      y -= 1;
      edits.push({ kind: ' ', line: before[x]! });
    }
    if (at === 0) break;
    if (down) edits.push({ kind: '+', line: after[(y -= 1)]! });
    else edits.push({ kind: '-', line: before[(x -= 1)]! });
  }
  return edits.reverse();
}

function formatHunks(edits: Edit[]): string[] {
  const lines: string[] = [];
  let [oldLine, newLine, at] = [1, 1, 0];
  while (at < edits.length) {
    if (edits[at]!.kind === ' ') {
      [oldLine, newLine, at] = [oldLine + 1, newLine + 1, at + 1];
      continue;
    }
    const from = Math.max(0, at - contextLines);
    const to = findHunkEnd(edits, at);
    const hunk = edits.slice(from, to);
    const back = at - from;
    const countLinesOfKind = (kind: Edit['kind']) =>
      hunk.filter((edit) => edit.kind === ' ' || edit.kind === kind).length;
    const formatLineRange = (line: number, length: number) => `${length === 0 ? line - 1 : line},${length}`;
    const [gone, come] = [countLinesOfKind('-'), countLinesOfKind('+')];
    lines.push(`@@ -${formatLineRange(oldLine - back, gone)} +${formatLineRange(newLine - back, come)} @@`);
    for (const { kind, line } of hunk) lines.push(`${kind}${line}`);
    [oldLine, newLine, at] = [oldLine - back + gone, newLine - back + come, to];
  }
  return lines;
}

/** Returns the end of the hunk: changes that share lines of context are in one hunk. */
function findHunkEnd(edits: Edit[], start: number): number {
  let last = start;
  for (let at = start; at < edits.length && at - last <= 2 * contextLines; at += 1) {
    if (edits[at]!.kind !== ' ') last = at;
  }
  return Math.min(edits.length, last + contextLines + 1);
}
