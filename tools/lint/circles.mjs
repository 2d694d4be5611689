// Finds files that import each other in a circle. None of them can be read, tested or moved without all the others.
import { dirname, join } from 'node:path';

const relativeImport = /(?:from|import)\s*\(?\s*['"](\.[^'"]*)['"]/g;

/** Returns a line with the files of each circle. Type imports count. */
export function findImportCircles(files, read) {
  const sources = new Set(files.filter((file) => /\.(ts|tsx|mjs|cjs)$/.test(file)));
  const imports = new Map(
    [...sources].map((file) => [
      file,
      [...read(file).matchAll(relativeImport)].flatMap(([, path]) => {
        const base = join(dirname(file), path);
        return [base, `${base}.ts`, `${base}.tsx`, `${base}/index.ts`].filter((each) => sources.has(each)).slice(0, 1);
      }),
    ]),
  );
  return findStronglyConnected(imports)
    .filter(({ length }) => length > 1)
    .map((circle) => `${circle.sort().join(', ')}: import each other in a circle`);
}

/** Tarjan's algorithm: groups of files that can all reach each other. */
function findStronglyConnected(imports) {
  const order = new Map();
  const lowest = new Map();
  const path = [];
  const onPath = new Set();
  const groups = [];
  const visitFile = (file) => {
    order.set(file, order.size);
    lowest.set(file, order.get(file));
    path.push(file);
    onPath.add(file);
    for (const next of imports.get(file)) {
      if (!order.has(next)) visitFile(next);
      if (onPath.has(next)) lowest.set(file, Math.min(lowest.get(file), lowest.get(next)));
    }
    if (lowest.get(file) !== order.get(file)) return;
    const group = path.splice(path.indexOf(file));
    for (const each of group) onPath.delete(each);
    groups.push(group);
  };
  for (const file of imports.keys()) if (!order.has(file)) visitFile(file);
  return groups;
}
