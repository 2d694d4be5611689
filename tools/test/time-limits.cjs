// How much processor time the tests of one file may use, in seconds, by the kind of the file.
const limits = { pure: 1, database: 5, process: 20, page: 20 };

/**
 * Returns the processor seconds above which a file fails the run. The same file takes up to half more time next to
 * other work, because processes share the caches of the processor, and the first file that uses a part of the code also
 * pays for its compilation.
 */
const computeAllowedSeconds = (limit, slowness) => (limit * 1.5 + 1) * slowness;

const startsService = 'starts a whole service, which takes six to eight seconds each time';
const startsApps = 'starts the six apps as processes, kills each and starts it again';
const compiles = 'runs the TypeScript compiler';
const manyRoutes = 'calls every route without a credential, with the wrong one and with bad bodies';
const simulates = 'simulates weeks of schedules';
const random = 'compares random input with a slow reference';
const large = 'needs input of several megabytes, because the limits are about size';
const passwords = 'hashes passwords and verifies signatures as production does';
const browserSteps = 'runs whole autopilot sessions with a browser';
const races = 'runs many requests at the same time, again and again';

/** Files that may use more, each with the reason. */
const exceptions = {
  'apps/e2e/src/cli/cli.spec.ts': { seconds: 30, reason: startsService },
  'apps/e2e/src/far-worker.spec.ts': { seconds: 60, reason: `${startsService}, and it is restarted` },
  'apps/e2e/src/sdk/sdk.spec.ts': { seconds: 40, reason: `${startsService}; ${compiles}` },
  'apps/e2e/src/services.spec.ts': { seconds: 90, reason: startsApps },
  'apps/e2e/src/start.spec.ts': { seconds: 35, reason: startsService },
  'apps/gateway/src/admin/feedback-export.spec.ts': { seconds: 15, reason: large },
  'apps/gateway/src/agents/imaging-images.spec.ts': { seconds: 9, reason: large },
  'apps/gateway/src/auth/passkeys.spec.ts': { seconds: 7, reason: passwords },
  'apps/gateway/src/auth/second-factor.spec.ts': { seconds: 7, reason: passwords },
  'apps/gateway/src/jobs/job-lists.spec.ts': { seconds: 9, reason: large },
  'apps/gateway/src/jobs/launch-pairs.spec.ts': { seconds: 8, reason: races },
  'apps/gateway/src/packs/launch-races.spec.ts': { seconds: 7, reason: races },
  'apps/gateway/src/organization/audit-proof.spec.ts': {
    seconds: 8,
    reason: 'needs a new organization with signed-in users for each row that it changes',
  },
  'apps/standalone/src/accounting/month.spec.ts': { seconds: 10, reason: 'accounts for a simulated month of runs' },
  'apps/standalone/src/autopilot/sessions.spec.ts': { seconds: 8, reason: browserSteps },
  'apps/standalone/src/commands.spec.ts': {
    seconds: 9,
    reason: 'runs each kind of command from the API to the worker',
  },
  'apps/standalone/src/webhooks/every-type.spec.ts': { seconds: 8, reason: 'causes an event of every type' },
  'apps/standalone/src/routes.spec.ts': { seconds: 40, reason: manyRoutes },
  'apps/worker/src/imaging/python-tests.spec.ts': { seconds: 27, reason: 'runs the tests of the imaging program' },
  'libs/access/src/requests/endpoint.spec.ts': { seconds: 15, reason: compiles },
  'libs/contracts/src/http/parse-time.spec.ts': { seconds: 2, reason: random },
  'libs/feedback/src/submissions/screenshot.spec.ts': { seconds: 4, reason: large },
  'libs/jobs/src/batches/read-csv.spec.ts': { seconds: 10, reason: large },
  'libs/models/src/nonsense.spec.ts': { seconds: 2, reason: random },
  'libs/packs/src/zip/check-bundle.spec.ts': { seconds: 20, reason: large },
  'libs/platform/src/http/addresses/find-addresses.spec.ts': { seconds: 3, reason: random },
  'libs/platform/src/http/bodies/json-body.spec.ts': { seconds: 3, reason: large },
  'libs/schedules/src/cron/cron-rule.spec.ts': { seconds: 2, reason: simulates },
  'libs/schedules/src/cron/find-next-run.spec.ts': { seconds: 10, reason: simulates },
  'libs/schedules/src/testing/simulated-fleet.spec.ts': { seconds: 10, reason: simulates },
  'libs/schedules/src/ticks/decide-tick.spec.ts': { seconds: 5, reason: simulates },
  'libs/vm/src/docker/docker-machines.spec.ts': { seconds: 2, reason: 'speaks TLS to a simulated Docker engine' },
  'libs/vm/src/docker/docker-tls.spec.ts': { seconds: 2, reason: 'makes certificates' },
  'libs/vm/src/ec2/ec2-machines.spec.ts': { seconds: 4, reason: 'signs and parses every request to a simulated EC2' },
  'libs/workflows/src/text-diff.spec.ts': { seconds: 4, reason: random },
  'libs/workflows/src/recordings/read-recording.spec.ts': { seconds: 6, reason: large },
  'tools/deploy/routing.spec.ts': { seconds: 2, reason: 'compares the tables of two proxies with each route' },
  'tools/dev-stack/src/object-store/keys.spec.ts': { seconds: 3, reason: random },
  'tools/dev-stack/src/object-store/object-store.spec.ts': { seconds: 3, reason: large },
  'tools/dev-stack/src/object-store/wire/authentication.spec.ts': {
    seconds: 2,
    reason: 'signs each request in two ways',
  },
  'tools/start/upgrade-data.spec.ts': { seconds: 8, reason: 'restores an old database and migrates it' },
};

module.exports = { limits, computeAllowedSeconds, exceptions };
