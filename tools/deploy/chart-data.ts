import { pathOwners, queueDefinition, queueNames } from '@muster/contracts';
import { stringify } from 'yaml';
import { pathRegex } from './path-regex';

/** The Ingress's rules, in the table's order. */
export function chartPaths(): string {
  const paths = pathOwners.map(({ path, app }) => ({ row: path, ...ruleOf(path), app }));
  return document('libs/contracts/src/http/path-owners.ts', { paths });
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
