/** Reads the first rows of a CSV for a preview. The service reads the whole file. */
export function parseCsv(text: string, rowsAtMost: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < text.length && rows.length < rowsAtMost; at += 1) {
    const char = text[at]!;
    if (quoted) {
      if (char !== '"') cell += char;
      else if (text[at + 1] === '"') cell += text[(at += 1)]!;
      else quoted = false;
    } else if (char === '"') quoted = true;
    else if (char === ',' || char === '\n') {
      row.push(cell.replace(/\r$/, ''));
      cell = '';
      if (char === ',') continue;
      if (row.some((each) => each !== '')) rows.push(row);
      row = [];
    } else cell += char;
  }
  if (rows.length < rowsAtMost && (cell !== '' || row.length > 0)) rows.push([...row, cell]);
  return rows;
}
