interface Line {
  mark: ' ' | '-' | '+';
  text: string;
}

const context = 3;
/** Maximum number of edits to search for. Above it, the whole differing middle is shown as replaced. */
const mostEdits = 2000;

/** Returns the hunks of `diff -u` between two texts, or no lines if the texts are equal. */
export function lineDiff(from: string, to: string): string[] {
  if (from === to) return [];
  return hunksOf(edits(linesOf(from), linesOf(to)));
}

/** Splits a text into lines with their newlines, so that a missing newline and a carriage return are differences. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function edits(from: string[], to: string[]): Line[] {
  let start = 0;
  while (start < from.length && start < to.length && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < from.length - start && end < to.length - start && from.at(-1 - end) === to.at(-1 - end)) end += 1;
  const middle = between(from.slice(start, from.length - end), to.slice(start, to.length - end));
  const same = (lines: string[]) => lines.map((text): Line => ({ mark: ' ', text }));
  return [...same(from.slice(0, start)), ...middle, ...same(from.slice(from.length - end))];
}

/** Myers' algorithm: finds the shortest edit script by the furthest position on each diagonal per number of edits. */
function between(from: string[], to: string[]): Line[] {
  const trace: Map<number, number>[] = [];
  let reached = new Map<number, number>([[1, 0]]);
  for (let count = 0; count <= Math.min(mostEdits, from.length + to.length); count += 1) {
    const next = new Map<number, number>();
    for (let diagonal = -count; diagonal <= count; diagonal += 2) {
      const down = diagonal === -count || (diagonal !== count && at(reached, diagonal - 1) < at(reached, diagonal + 1));
      let x = down ? at(reached, diagonal + 1) : at(reached, diagonal - 1) + 1;
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
    const down = diagonal === -left || (diagonal !== left && at(before, diagonal - 1) < at(before, diagonal + 1));
    const previous = down ? diagonal + 1 : diagonal - 1;
    const fromX = left === 0 ? 0 : at(before, previous);
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

function at(reached: Map<number, number>, diagonal: number): number {
  return reached.get(diagonal) ?? -1;
}

function hunksOf(lines: Line[]): string[] {
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
    shown.push(`@@ -${fromLine + 1},${added} +${toLine + 1},${removed} @@`, ...hunk.flatMap(written));
    fromLine += added!;
    toLine += removed!;
    index = end;
  }
  return shown;
}

function written({ mark, text }: Line): string[] {
  if (text.endsWith('\n')) return [mark + text.slice(0, -1)];
  return [mark + text, '\\ No newline at end of file'];
}
