// The layout and its import table (README, "Who may import whom") as data: ESLint's boundaries are made from it,
// and the repository check holds every project.json to it.

const adapters = ['vm', 'storage', 'trackers', 'models', 'vault'];
const services = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering', 'feedback-sync'];

/** What each domain may import beside the foundation. Everything may use access. */
const domains = {
  access: [],
  webhooks: [],
  timeline: [],
  agents: ['timeline', 'webhooks'],
  workflows: ['packs'],
  packs: ['webhooks'],
  pilot: [],
  pricing: ['webhooks'],
  feedback: ['pricing', 'webhooks'],
  jobs: ['agents', 'timeline', 'workflows', 'packs', 'pricing', 'webhooks'],
  schedules: ['jobs', 'agents', 'workflows', 'packs', 'pricing', 'webhooks'],
  assistant: ['agents', 'timeline', 'jobs', 'workflows', 'schedules', 'packs', 'pricing', 'webhooks'],
};
const foundation = ['contracts', 'platform', 'database', 'adapter'];

/** Which tags a project with this tag may import. */
const table = {
  contracts: [],
  sdk: [],
  platform: ['contracts'],
  database: ['contracts', 'platform'],
  adapter: ['contracts', 'platform'],
  ...Object.fromEntries(
    Object.entries(domains).map(([name, others]) => [
      name,
      [...foundation, ...(name === 'access' ? [] : ['access']), ...others],
    ]),
  ),
  app: [...foundation, ...Object.keys(domains)],
  standalone: ['contracts', 'platform'],
  worker: ['contracts'],
  console: ['contracts', 'sdk'],
  cli: ['sdk'],
  tool: [...foundation, ...Object.keys(domains), 'tool'],
  testing: [...foundation, ...Object.keys(domains), 'tool'],
  e2e: ['sdk', ...foundation, ...Object.keys(domains), 'tool'],
};

/** Every app and lib that the layout knows, by its root folder, with its one tag. Tools are all tagged alike. */
export const layout = Object.fromEntries([
  ...services.map((name) => [`apps/${name}`, 'app']),
  ...['standalone', 'worker', 'console', 'cli', 'e2e'].map((name) => [`apps/${name}`, name]),
  ...['contracts', 'sdk', 'platform', 'database', 'testing', ...Object.keys(domains)].map((name) => [
    `libs/${name}`,
    name,
  ]),
  ...adapters.map((name) => [`libs/${name}`, 'adapter']),
]);

/** The options of @nx/enforce-module-boundaries. Tests may use the testing lib too; nothing else may. */
export function boundaries({ tests = false, allow = [] } = {}) {
  return {
    allow,
    banTransitiveDependencies: true,
    // The specs of a lib use testing, and testing uses the lib. No other cycle can be: the table has none.
    ignoredCircularDependencies: [['testing', '!testing']],
    depConstraints: Object.entries(table).map(([sourceTag, tags]) => ({
      sourceTag,
      onlyDependOnLibsWithTags: tests ? [...tags, 'testing'] : tags,
    })),
  };
}

/** Only standalone imports apps, and of each its index. */
export const appIndexes = services.map((name) => `^@muster/${name}$`);
