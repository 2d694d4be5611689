// The layout and its import table (docs/map.md) as data. ESLint's boundaries are generated from it, and the repository
// check compares every project.json with it.

const adapters = ['vm', 'storage', 'trackers', 'models', 'vault'];
const services = ['gateway', 'ingest', 'dispatcher', 'scheduler', 'metering', 'feedback-sync'];

/** Domains that each domain may import in addition to the foundation. Every domain may import access. */
const domains = {
  access: [],
  webhooks: [],
  alerts: ['webhooks'],
  timeline: [],
  machines: ['timeline', 'webhooks'],
  commands: ['machines', 'timeline'],
  workflows: ['packs'],
  packs: ['webhooks'],
  pilot: [],
  pricing: ['webhooks'],
  feedback: ['pricing', 'webhooks'],
  jobs: ['commands', 'machines', 'timeline', 'workflows', 'packs', 'pricing', 'webhooks'],
  schedules: ['jobs', 'machines', 'workflows', 'packs', 'pricing', 'webhooks'],
  assistant: ['commands', 'machines', 'timeline', 'jobs', 'workflows', 'schedules', 'packs', 'pricing', 'webhooks'],
};
const foundation = ['contracts', 'platform', 'database', 'adapter'];

/** The tags that a project with this tag may import. */
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
  cli: ['sdk', 'contracts'],
  tool: [...foundation, ...Object.keys(domains), 'tool'],
  testing: [...foundation, ...Object.keys(domains), 'tool'],
  e2e: ['sdk', ...foundation, ...Object.keys(domains), 'tool'],
};

/** Every app and lib of the layout by its root folder, with its tag. All tools have the same tag. */
export const layout = Object.fromEntries([
  ...services.map((name) => [`apps/${name}`, 'app']),
  ...['standalone', 'worker', 'console', 'cli', 'e2e'].map((name) => [`apps/${name}`, name]),
  ...['contracts', 'sdk', 'platform', 'database', 'testing', ...Object.keys(domains)].map((name) => [
    `libs/${name}`,
    name,
  ]),
  ...adapters.map((name) => [`libs/${name}`, 'adapter']),
]);

/** The options of @nx/enforce-module-boundaries. Only tests may also import the testing lib. */
export function buildBoundaryRule({ tests = false, allow = [] } = {}) {
  return {
    allow,
    banTransitiveDependencies: true,
    // The specs of a lib import testing, and testing imports the lib. Other cycles are impossible, because the table
    // has none.
    ignoredCircularDependencies: [['testing', '!testing']],
    depConstraints: Object.entries(table).map(([sourceTag, tags]) => ({
      sourceTag,
      onlyDependOnLibsWithTags: tests ? [...tags, 'testing'] : tags,
    })),
  };
}

/** Only the app standalone may import other apps, and only their index files. */
export const appIndexes = services.map((name) => `^@muster/${name}$`);
