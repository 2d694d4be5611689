import { pathOwners, queueDefinition, queueNames } from '@muster/contracts';
import { stringify } from 'yaml';
import { pathRegex } from './path-regex';

/** The Ingress's rules, and those of the HTTPRoute, in the table's order. */
export function chartPaths(): string {
  const paths = pathOwners.map(({ path, app }) => ({ row: path, ...ruleOf(path), app }));
  return document('libs/contracts/src/http/path-owners.ts', { routes: routes(), paths });
}

interface Route {
  app: string;
  matches: { type: string; value: string }[];
}

/** One rule for the rows of an app that stand together: an HTTPRoute has room for 16. */
function routes(): Route[] {
  return pathOwners.reduce<Route[]>((found, { path, app }) => {
    const last = found.at(-1);
    if (last?.app === app) last.matches.push(matchOf(path));
    else found.push({ app, matches: [matchOf(path)] });
    return found;
  }, []);
}

/**
 * Exact matches come first everywhere. How expressions stand to prefixes is each gateway's own, so there are no prefixes:
 * among themselves expressions are tried by length or as they stand, and both orders bring the same.
 */
function matchOf(path: string): { type: string; value: string } {
  if (!/[:*]/.test(path)) return { type: 'Exact', value: path };
  return { type: 'RegularExpression', value: pathRegex(path) };
}

/** Which app a queue's backlog scales, and how many of its jobs one replica runs at once. */
export function chartQueues(): string {
  const queues = queueNames.map((queue) => {
    const { app, concurrency } = queueDefinition(queue);
    return { queue, app, concurrency };
  });
  return document('libs/contracts/src/queues/catalogue.ts', { queues });
}

/**
 * Controllers put the leading ^ themselves, and Kubernetes wants a path to begin with a slash. The catch-all is plain:
 * it is the shortest, which is how controllers that sort by length know to try it last.
 */
function ruleOf(path: string): { path: string; pathType: string } {
  if (path === '/*') return { path: '/', pathType: 'Prefix' };
  return { path: pathRegex(path).replace(/^\^/, ''), pathType: 'ImplementationSpecific' };
}

function document(source: string, data: object): string {
  const text = stringify(data, { singleQuote: true, lineWidth: 0 });
  return `# Generated from ${source} by tools/deploy/generate.ts: do not edit.\n${text}`;
}
