import { pathOwners, getQueueDefinition, queueNames } from '@muster/contracts';
import { stringify } from 'yaml';
import { buildPathRegex } from './build-path-regex';

/** Returns the rules of the Ingress and of the HTTPRoute, in the order of the table. */
export function renderChartPaths(): string {
  const paths = pathOwners.map(({ path, app }) => ({ row: path, ...toIngressRule(path), app }));
  return renderDocument('libs/contracts/src/http/path-owners.ts', { routes: listRoutes(), paths });
}

interface Route {
  app: string;
  matches: { type: string; value: string }[];
}

/** Combines consecutive rows of an app into one rule, because an HTTPRoute can have at most 16 rules. */
function listRoutes(): Route[] {
  return pathOwners.reduce<Route[]>((found, { path, app }) => {
    const last = found.at(-1);
    if (last?.app === app) last.matches.push(toGatewayMatch(path));
    else found.push({ app, matches: [toGatewayMatch(path)] });
    return found;
  }, []);
}

/**
 * Every gateway tries exact matches first. The order of regular expressions and prefixes depends on the gateway, so
 * prefixes are not used. Regular expressions are tried by length or in the order of the file; both give the same
 * result.
 */
function toGatewayMatch(path: string): { type: string; value: string } {
  if (!/[:*]/.test(path)) return { type: 'Exact', value: path };
  return { type: 'RegularExpression', value: buildPathRegex(path) };
}

/** Returns the app that each queue’s backlog scales, and the number of messages that one replica handles at once. */
export function renderChartQueues(): string {
  const queues = queueNames.map((queue) => {
    const { app, concurrency } = getQueueDefinition(queue);
    return { queue, app, concurrency };
  });
  return renderDocument('libs/contracts/src/queues/catalogue.ts', { queues });
}

/**
 * The leading ^ is removed: controllers add it, and Kubernetes requires a path to start with a slash. The catch-all is
 * a plain prefix. It is the shortest path, so controllers that sort by length try it last.
 */
function toIngressRule(path: string): { path: string; pathType: string } {
  if (path === '/*') return { path: '/', pathType: 'Prefix' };
  return { path: buildPathRegex(path).replace(/^\^/, ''), pathType: 'ImplementationSpecific' };
}

function renderDocument(source: string, data: object): string {
  const text = stringify(data, { singleQuote: true, lineWidth: 0 });
  return `# Generated from ${source} by tools/deploy/generate.ts: do not edit.\n${text}`;
}
