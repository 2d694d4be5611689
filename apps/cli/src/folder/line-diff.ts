interface Line {
  mark: ' ' | '-' | '+';
  text: string;
}

const context = 3;
/**
 * Maximum number of edits to search for. If the texts differ by more edits, all lines between the first and the last
 * difference are shown as replaced.
 */
const maxEdits = 2000;

/** Returns the hunks of `diff -u` between two texts, or no lines if the texts are equal. */
export function lineDiff(from: string, to: string): string[] {
  if (from === to) return [];
  return formatHunks(editsBetween(linesOf(from), linesOf(to)));
}

/**
 * Splits a text into lines. Each line keeps its newline, so that a missing newline and a carriage return are
 * differences.
 */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function editsBetween(from: string[], to: string[]): Line[] {
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  const middle = shortestEdits(from.slice(start, from.length - end), to.slice(start, to.length - end));
  const same = (lines: string[]) => lines.map((text): Line => ({ mark: ' ', text }));
  return [...same(from.slice(0, start)), ...middle, ...same(from.slice(from.length - end))];
}

/**
 * Finds the shortest list of edits with Myers' algorithm, which computes the furthest position on each diagonal for
 * each number of edits.
 */
function shortestEdits(from: string[], to: string[]): Line[] {
  const trace: Map<number, number>[] = [];
  let reached = new Map<number, number>([[1, 0]]);
  for (let count = 0; count <= Math.min(maxEdits, from.length + to.length); count += 1) {
    const next = new Map<number, number>();
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const down =
        diagonal === -count ||
        (diagonal !== count && furthestPosition(reached, diagonal - 1) < furthestPosition(reached, diagonal + 1));
      let x = down ? furthestPosition(reached, diagonal + 1) : furthestPosition(reached, diagonal - 1) + 1;
      while (x < from.length && x - diagonal < to.length && from[x] === to[x - diagonal]) x += 1;
      next.set(diagonal, x);
      if (x >= from.length && x - diagonal >= to.length) return walkBack([...trace, reached], count, from, to);
    }
    trace.push(reached);
    reached = next;
  }
  return [...from.map((text): Line => ({ mark: '-', text })), ...to.map((text): Line => ({ mark: '+', text }))];
}

function walkBack(trace: Map<number, number>[], count: number, from: string[], to: string[]): Line[] {
  const lines: Line[] = [];
  let [x, y] = [from.length, to.length];
  for (let left = count; left >= 0; left -= 1) {
    const before = trace[left]!;
    const diagonal = x - y;
    const down =
      diagonal === -left ||
      (diagonal !== left && furthestPosition(before, diagonal - 1) < furthestPosition(before, diagonal + 1));
    const previous = down ? diagonal + 1 : diagonal - 1;
    const fromX = left === 0 ? 0 : furthestPosition(before, previous);
    const fromY = left === 0 ? 0 : fromX - previous;
    while (x > fromX && y > fromY && from[x - 1] === to[y - 1]) {
      lines.push({ mark: ' ', text: from[x - 1]! });
      x -= 1;
      y -= 1;
    }
    if (left === 0) break;
    if (down) lines.push({ mark: '+', text: to[(y -= 1)]! });
    else lines.push({ mark: '-', text: from[(x -= 1)]! });
  }
  return lines.reverse();
}

function furthestPosition(reached: Map<number, number>, diagonal: number): number {
  return reached.get(diagonal) ?? -1;
}

function formatHunks(lines: Line[]): string[] {
  const shown: string[] = [];
  let [fromLine, toLine] = [0, 0];
  for (let index = 0; index < lines.length;) {
    const next = lines.findIndex(({ mark }, place) => place >= index && mark !== ' ');
    if (next < 0) break;
    const start = Math.max(index, next - context);
    let [end, quiet] = [next, 0];
    for (; end < lines.length && quiet <= context * 2; end += 1) quiet = lines[end]!.mark === ' ' ? quiet + 1 : 0;
    end -= Math.max(0, quiet - context);
    fromLine += start - index;
    toLine += start - index;
    const hunk = lines.slice(start, end);
    const [removed, added] = (['-', '+'] as const).map((mark) => hunk.filter((line) => line.mark !== mark).length);
    shown.push(`@@ -${fromLine + 1},${added} +${toLine + 1},${removed} @@`, ...hunk.flatMap(formatLine));
    fromLine += added!;
    toLine += removed!;
    index = end;
  }
  return shown;
}

function formatLine({ mark, text }: Line): string[] {
  if (text.endsWith('\n')) return [mark + text.slice(0, -1)];
  return [mark + text, '\\ No newline at end of file'];
}
