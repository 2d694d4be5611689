/**
 * Converts rows that were typed or pasted from a spreadsheet to a CSV whose columns have the names of the variables. The
 * cells of a row are separated by tabs or by commas; if the workflow has one variable, the whole line is its value. The
 * first line may name the columns.
 */
export function convertToCsv(text: string, variables: readonly string[]): string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  if (lines.length === 0) return '';
  const named = lines[0]!.split(/[\t,]/).map((cell) => findVariable(cell, variables));
  const isHeader = named.length === variables.length && new Set(named).size === named.length && !named.includes('');
  const rows = lines.slice(isHeader ? 1 : 0).map((line) => {
    if (line.includes('\t')) return line.split('\t').map(quoteCell).join(',');
    return variables.length === 1 ? quoteCell(line.trim()) : line;
  });
  return [(isHeader ? named : variables).map(quoteCell).join(','), ...rows, ''].join('\n');
}

function findVariable(cell: string, variables: readonly string[]): string {
  return variables.find((name) => name.toLowerCase() === cell.trim().toLowerCase()) ?? '';
}

function quoteCell(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
