import { findOwnerApp, pathOwners } from '@muster/contracts';
import { readText, readYaml } from './deployment.harness';
import { renderNginxConf } from './render-nginx-conf';

const agent = '019a52a0-6d5b-7c3e-9f3a-0c6a8f1f2b11';

/** One path of every row, and paths that almost match a row. */
const samples = [
  ...pathOwners.map(({ path }) => path.replaceAll(/:[a-zA-Z]+/g, agent).replace(/\/\*$/, '/a/b')),
  `/api/agents/${agent}/commands/x/result`,
  `/api/agents/${agent}/commands/`,
  `/api/agents/${agent}/commandsx`,
  `/api/agents/${agent}/x/commands`,
  `/api/agents/${agent}/step-status/x`,
  `/api/agents/${agent}/events`,
  `/api/agents/${agent}`,
  '/api/agents',
  '/api/agents/handshake/x',
  '/api/agent/heartbeat/',
  '/api/agent/heartbeats',
  `/api/agent/${agent}/action`,
  '/api/job-webhook',
  '/api/job-webhooks',
  '/api/job-logs/x',
  '/api/job-status',
  `/api/jobs/${agent}`,
  '/api/jobs//claim-results',
  '/api/webhooks',
  '/api/webhooks/codehost',
  '/api/webhooksx',
  '/api/cron',
  '/api/cron/stale-jobs',
  '/api/cronx',
  '/x/api/cron/stale-jobs',
  '/api/health',
  '/app/agents',
  '/',
];

describe('the proxy of the compose file', () => {
  const locations = parseLocations(readText('docker/nginx.conf'));

  it.each(samples)('the proxy of the compose file routes %s to the app that owns it', (path) => {
    expect(findAppByNginx(locations, path)).toBe(findOwnerApp(path));
  });

  it('the proxy of the compose file has a location for each row of the path table', () => {
    expect(locations).toHaveLength(pathOwners.length);
  });

  it('the proxy’s configuration cannot be generated if the last row of the path table does not match all other paths', () => {
    expect(() => renderNginxConf(pathOwners.slice(0, -1))).toThrow('the last row');
  });
});

describe('the ingress of the chart', () => {
  const { paths } = readYaml<{ paths: IngressRule[] }>('k8s/chart/generated/paths.yaml');

  it.each(samples)('the ingress of the chart routes %s to the app that owns it', (path) => {
    expect(findAppByIngress(paths, path)).toBe(findOwnerApp(path));
  });

  it('the ingress of the chart has paths that Kubernetes accepts', () => {
    for (const { path } of paths) expect(path).toMatch(/^\//);
    expect(new Set(paths.map(({ path }) => path)).size).toBe(paths.length);
  });
});

describe('the route of the chart', () => {
  const { routes } = readYaml<{ routes: Route[] }>('k8s/chart/generated/paths.yaml');
  const matches = routes.flatMap(({ app, matches }) => matches.map((match) => ({ ...match, app })));

  it.each(samples)(
    'the route of the chart sends %s to the app that owns it, in every order of regular expressions',
    (path) => {
      const byLength = [...matches].sort((a, b) => b.value.length - a.value.length);
      expect([matches, byLength].map((order) => findAppByRoute(order, path))).toEqual([
        findOwnerApp(path),
        findOwnerApp(path),
      ]);
    },
  );

  it('the route of the chart fits into one HTTPRoute and uses no prefixes', () => {
    expect(routes.length).toBeLessThanOrEqual(16);
    for (const { matches } of routes) expect(matches.length).toBeLessThanOrEqual(64);
    expect(matches).toHaveLength(pathOwners.length);
    const types = new Set(matches.map(({ type }) => type));
    expect([...types].sort()).toEqual(['Exact', 'RegularExpression']);
    const template = readText('k8s/chart/templates/httproute.yaml');
    expect(template).toContain('range (.Files.Get "generated/paths.yaml" | fromYaml).routes');
  });
});

interface Route {
  app: string;
  matches: { type: string; value: string }[];
}

/**
 * Selects an exact match, or else the first regular expression. Matching a part or the whole path gives the same
 * result.
 */
function findAppByRoute(order: { type: string; value: string; app: string }[], path: string): string | undefined {
  const exact = order.find(({ type, value }) => type === 'Exact' && value === path);
  return (exact ?? order.find(({ type, value }) => type === 'RegularExpression' && new RegExp(value).test(path)))?.app;
}

interface Location {
  modifier: string;
  match: string;
  app: string;
}

function parseLocations(conf: string): Location[] {
  const pattern = /location (?:(=|~\*?|\^~) )?"?([^"\s]+)"? \{\s+set \$app ([a-z-]+);/g;
  return [...conf.matchAll(pattern)].map(([, modifier = '', match, app]) => ({ modifier, match: match!, app: app! }));
}

/**
 * Selects a location as nginx does: an exact match; else the longest prefix if it has ^~; else the first regular
 * expression in the file; else the longest prefix.
 */
function findAppByNginx(locations: Location[], path: string): string | undefined {
  const exact = locations.find(({ modifier, match }) => modifier === '=' && match === path);
  if (exact) return exact.app;
  const [prefix] = locations
    .filter(({ modifier, match }) => ['', '^~'].includes(modifier) && path.startsWith(match))
    .sort((a, b) => b.match.length - a.match.length);
  if (prefix?.modifier === '^~') return prefix.app;
  // nginx merges consecutive slashes before it matches locations.
  const merged = path.replaceAll(/\/+/g, '/');
  const regex = locations.find(
    ({ modifier, match }) =>
      (modifier === '~' && new RegExp(match).test(merged)) ||
      (modifier === '~*' && new RegExp(match, 'i').test(merged)),
  );
  return (regex ?? prefix)?.app;
}

interface IngressRule {
  path: string;
  pathType: string;
  app: string;
}

/**
 * Selects a rule as an ingress controller does: paths are case-insensitive regular expressions, anchored at the start,
 * the longest first.
 */
function findAppByIngress(rules: IngressRule[], path: string): string | undefined {
  return [...rules]
    .sort((a, b) => b.path.length - a.path.length)
    .find((rule) => new RegExp(`^${rule.path}`, 'i').test(path))?.app;
}
